// The register estimate: what must hold of any, and how near ptxas it is where there is one.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "catch.hpp"
#include "flipflop/passes.hpp"
#include "passes/block_scheduler.hpp"
#include "passes/pressure.hpp"
#include "passes/value_classes.hpp"
#include "passes/ptxas_resources.hpp"

using namespace flipflop;

namespace {

ptx::ParseResult parsed(const std::string& text) {
    ptx::ParseResult result = ptx::parse(std::make_shared<std::string>(text), "test.ptx");
    for (const Diagnostic& d : result.diagnostics) UNSCOPED_INFO(render(d));
    REQUIRE(result.errors == 0);
    return result;
}

std::string kernel(const std::string& directives, const std::string& body) {
    return ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u32 n)\n" + directives +
           "\n{\n.reg .pred %p<9>;\n.reg .b32 %r<400>;\n.reg .f32 %f<400>;\n.reg .b64 %rd<400>;\n" + body + "\nret;\n}\n";
}

Resources estimate(const std::string& text, std::uint32_t sm = 80, std::uint32_t entry = 0) {
    const auto result = parsed(text);
    KernelCode code = analyse_kernel(result.modules.at(0), entry);
    estimate_registers(code, sm, code.facts.resources);
    return code.facts.resources;
}

/// `count` values loaded one after another and only then used.
std::string live(unsigned count) {
    std::string body = "ld.param.u64 %rd1, [a];\n";
    for (unsigned i = 0; i < count; ++i) body += "ld.volatile.global.f32 %f" + std::to_string(i) + ", [%rd1+" + std::to_string(4 * i) + "];\n";
    for (unsigned i = 0; i < count; ++i) body += "st.volatile.global.f32 [%rd1+" + std::to_string(4 * i) + "], %f" + std::to_string(i) + ";\n";
    return body;
}

std::string read(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

}  // namespace

TEST_CASE("more values alive need more registers, up to the cap", "[passes][registers]") {
    std::uint32_t before = 0;
    for (unsigned count = 1; count < 300; count += 7) {
        const Resources r = estimate(kernel("", live(count)));
        INFO(count << " values: " << r.registers_per_thread);
        CHECK(r.registers_per_thread >= before);
        CHECK(r.registers_per_thread >= std::min(count, 255U));
        CHECK(r.registers_per_thread <= std::min(count + 17U, 255U));
        CHECK(r.registers_low <= r.registers_per_thread);
        CHECK(r.registers_per_thread <= r.registers_high);
        CHECK(r.registers_high <= 255);
        CHECK((r.spill_store_bytes.value() > 0) == (count > 252));
        before = r.registers_per_thread;
    }
}

TEST_CASE("launch bounds and .maxnreg cap the estimate and predict spills", "[passes][registers]") {
    struct Row { const char* directives; std::uint32_t cap; };
    const Row rows[] = {{".maxntid 1024", 64}, {".maxntid 256\n.minnctapersm 4", 64}, {".maxntid 256", 255}, {".maxnreg 48", 48},
                        {".maxntid 128\n.minnctapersm 16", 32}, {".reqntid 1024", 64}, {".maxntid 96\n.minnctapersm 5", 136}};
    for (const Row& row : rows) {
        INFO(row.directives);
        const Resources r = estimate(kernel(row.directives, live(200)));
        CHECK(r.registers_per_thread <= row.cap);
        CHECK(r.registers_high <= row.cap);
        CHECK((r.spill_store_bytes.value() > 0) == (row.cap < 200));
        CHECK(estimate(kernel(row.directives, live(4))).spill_store_bytes == 0u);
    }
}

TEST_CASE("what ptxas gives no register to", "[passes][registers]") {
    const std::uint32_t least = estimate(kernel("", "ld.param.u64 %rd1, [a]; st.global.u32 [%rd1], 0;")).registers_per_thread;
    std::string dead = "ld.param.u64 %rd1, [a];\n", constants = dead, predicates = dead, copies = dead + "ld.global.u32 %r0, [%rd1];\n";
    for (int i = 1; i < 40; ++i) {
        const std::string n = std::to_string(i);
        dead += "mov.u32 %r" + n + ", %tid.x; add.s32 %r" + n + ", %r" + n + ", " + n + ";\n";
        constants += "mov.u32 %r" + n + ", " + n + ";\n";
        copies += "mov.u32 %r" + n + ", %r" + std::to_string(i - 1) + ";\n";
    }
    for (int i = 1; i < 40; ++i) {
        const std::string n = std::to_string(i);
        constants += "st.volatile.global.u32 [%rd1], %r" + n + ";\n";
        copies += "st.volatile.global.u32 [%rd1], %r" + n + ";\n";
    }
    for (int i = 1; i < 8; ++i) predicates += "setp.eq.s32 %p" + std::to_string(i) + ", 1, 2;\n";
    for (const std::string& body : {dead + "st.global.u32 [%rd1], 0;", constants, predicates + "st.global.u32 [%rd1], 0;"}) {
        INFO(body.substr(0, 120));
        CHECK(estimate(kernel("", body)).registers_per_thread <= least + 2);
    }
    CHECK(estimate(kernel("", copies)).registers_per_thread <= least + 4);
}

TEST_CASE("loads on short sides of branches are alive together", "[passes][registers]") {
    // Eight loads, each behind a condition of its own: predicated they are issued together; long sides stay apart.
    const auto sides = [](const std::string& filler) {
        std::string body = "ld.param.u64 %rd1, [a];\nmov.u32 %r0, %tid.x;\n";
        for (int i = 1; i <= 8; ++i) {
            const std::string n = std::to_string(i), to = "SKIP" + n;
            body += "setp.eq.s32 %p" + n + ", %r0, " + n + ";\n@%p" + n + " bra " + to + ";\nld.global.v2.u32 {%r" + n + ", %r" + std::to_string(20 + i) +
                    "}, [%rd1+" + std::to_string(8 * i) + "];\n" + filler + "st.shared.u32 [%r0+" + std::to_string(8 * i) + "], %r" + n +
                    ";\nst.shared.u32 [%r0+" + std::to_string(8 * i + 4) + "], %r" + std::to_string(20 + i) + ";\n" + to + ":\n";
        }
        return estimate(kernel("", body)).registers_per_thread;
    };
    std::string barriers = "bar.warp.sync -1;\n";
    CHECK(sides("") >= sides(barriers) + 6);
}
TEST_CASE("addresses of shared memory take one register", "[passes][registers]") {
    const auto width = [](const std::string& space) {
        const auto result = parsed(kernel("", "ld.param.u64 %rd1, [a];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %rd2, %r0, 12;\nmul.wide.u32 %rd4, %r0, 4;\n"
                                              "add.s64 %rd3, %rd2, %rd4;\nst" + space + ".u32 [%rd3], %r0;"));
        const KernelCode code = analyse_kernel(result.modules[0], 0);
        const auto& registers = code.functions[0].ir.function->registers;
        const ValueClasses classes = classify_values(code.functions[0], 80);
        for (std::size_t r = 0; r < registers.size(); ++r)
            if (registers[r].name == "%rd" && registers[r].number == 3) return int{classes.width[r]};
        return -1;
    };
    CHECK(width(".shared") == 1);
    CHECK(width(".global") == 2);
}
TEST_CASE("schedules keep every dependence", "[passes][registers][property]") {
    // Values through registers and through memory: an order is right when nothing is read before it is written.
    std::string body = "ld.param.u64 %rd1, [a];\nmov.u32 %r0, %tid.x;\n";
    unsigned seed = 12345;
    const auto next = [&](unsigned n) { return (seed = seed * 1664525U + 1013904223U) / 65536U % n; };
    for (unsigned i = 1; i < 300; ++i) {
        const std::string n = std::to_string(i), a = std::to_string(next(i)), b = std::to_string(next(i));
        switch (next(4)) {
        case 0: body += "ld.global.u32 %r" + n + ", [%rd1+" + std::to_string(4 * next(8)) + "];\n"; break;
        case 1: body += "add.s32 %r" + n + ", %r" + a + ", %r" + b + ";\nst.global.u32 [%rd1+" + std::to_string(4 * next(8)) + "], %r" + n + ";\n"; break;
        default: body += "mad.lo.s32 %r" + n + ", %r" + a + ", %r" + b + ", %r0;\n";
        }
    }
    const auto result = parsed(kernel("", body));
    const ptx::Module& module = result.modules[0];
    KernelCode code = analyse_kernel(module, 0);
    const PressureModel model(code.functions[0], 80, [](const ptx::Function&) { return 0U; });
    const ptx::Function& f = module.functions[0];
    for (const std::uint32_t limit : {0U, 12U, 40U, 255U}) {
        BlockScheduler scheduler(model);
        std::vector<std::uint32_t> order;
        for (const std::uint32_t node : model.order_of_block(scheduler, 0, limit)) order.push_back(node);
        REQUIRE(std::set<std::uint32_t>(order.begin(), order.end()).size() == order.size());
        std::vector<std::uint32_t> position(f.instructions.size(), 0xffffffff);
        for (std::uint32_t p = 0; p < order.size(); ++p) position[order[p]] = p;
        for (std::uint32_t i = 0; i < f.instructions.size(); ++i) {
            if (position[i] == 0xffffffff) continue;
            for (const ptx::RegId r : code.functions[0].ir.reads(i))
                for (const std::uint32_t d : code.functions[0].ir.definitions_of(r))
                    if (position[d] != 0xffffffff) REQUIRE(position[d] < position[i]);
            const ptx::Form& form = module.form(f.instructions[i]);
            if (form.space != ptx::Space::global) continue;
            for (std::uint32_t j = 0; j < i; ++j) {
                const ptx::Form& other = module.form(f.instructions[j]);
                if (position[j] == 0xffffffff || other.space != ptx::Space::global || (!form.writes_memory && !other.writes_memory)) continue;
                const auto offset = [&](std::uint32_t k) { return module.operands_of(f.instructions[k])[module.form(f.instructions[k]).writes_memory ? 0 : 1].value; };
                if (offset(i) == offset(j)) REQUIRE(position[j] < position[i]);
            }
        }
    }
}

namespace {

/// Every kernel of `files` beside ptxas: {near (10 % or 2 registers), inside the interval, all}.
struct Share {
    int near_it{}, inside{}, all{};

    /// Estimates for `sm` and compares; true when near.
    bool add(KernelCode& code, std::uint32_t sm, std::uint32_t truth) {
        Resources& r = code.facts.resources;
        estimate_registers(code, sm, r);
        const bool is_near = std::abs(static_cast<double>(r.registers_per_thread) - truth) <= std::max(2.0, 0.1 * truth);
        near_it += is_near;
        inside += r.registers_low <= truth && truth <= r.registers_high;
        ++all;
        return is_near;
    }
};

/// What is reached on the examples (docs/registers.md), less two kernels of the 36 at sm_80. The aim is 0.9.
constexpr double kExamplesNear = 0.58;

Share compare(const std::vector<std::filesystem::path>& files, const PtxasTool& tool, std::uint32_t sm, bool print) {
    Share share;
    for (const auto& path : files) {
        const std::string text = read(path);
        const auto result = ptx::parse(std::make_shared<std::string>(text), path.filename().string());
        const auto report = run_ptxas(tool, text, "sm_" + std::to_string(sm));
        if (!report) continue;   // made for a newer architecture
        for (const ptx::Module& module : result.modules) {
            for (std::uint32_t f = 0; f < module.functions.size(); ++f) {
                if (!module.functions[f].is_entry || !module.functions[f].has_body) continue;
                const PtxasKernel* truth = find_kernel(*report, module.functions[f].name, "");
                if (truth == nullptr || !truth->registers) continue;
                KernelCode code = analyse_kernel(module, f);
                Resources& r = code.facts.resources;
                const bool is_near = share.add(code, sm, *truth->registers);
                if (print)
                    std::cout << "sm_" << sm << ' ' << *truth->registers << ' ' << r.registers_per_thread << " [" << r.registers_low << ','
                              << r.registers_high << "]" << (is_near ? " " : " * ") << code.facts.short_name << ' ' << path.filename().string() << '\n';
            }
        }
    }
    return share;
}

std::vector<std::filesystem::path> ptx_below(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    if (std::filesystem::is_directory(folder))
        for (const auto& item : std::filesystem::recursive_directory_iterator(folder))
            if (item.path().extension() == ".ptx") files.push_back(item.path());
    std::sort(files.begin(), files.end());
    return files;
}

Result<PtxasTool> installed_ptxas() {
    ToolEnvironment environment;
    if (const char* path = std::getenv("PATH")) environment.path = path;
    if (const char* home = std::getenv("CUDA_HOME")) environment.cuda_home = home;
    environment.temporary_folder = std::filesystem::temp_directory_path().string();
    return find_ptxas("", environment);
}

}  // namespace

TEST_CASE("the estimate beside ptxas on the examples", "[passes][registers][ptxas]") {
    const auto tool = installed_ptxas();
    if (!tool) {
        std::cout << "skipped: " << tool.error().message << '\n';
        return;
    }
    const Share share = compare(ptx_below(std::filesystem::path(FLIPFLOP_SOURCE_DIR) / "examples"), *tool, 80, false);
    INFO(share.near_it << " near, " << share.inside << " inside the interval, of " << share.all);
    REQUIRE(share.all >= 12);
    CHECK(share.near_it >= kExamplesNear * share.all);
    CHECK(share.inside >= 0.9 * share.all);
}

TEST_CASE("the estimate beside what ptxas 13.0 said of the examples", "[passes][registers]") {
    std::ifstream in(std::filesystem::path(FLIPFLOP_SOURCE_DIR) / "tests/data/examples.registers");
    std::string line, name;
    std::map<std::string, std::map<std::string, std::map<std::uint32_t, std::uint32_t>>> recorded;   // file, kernel, architecture
    while (std::getline(in, line)) {
        if (line.starts_with('#')) continue;
        std::istringstream row(line);
        std::string file;
        std::uint32_t sm = 0, registers = 0;
        REQUIRE(row >> file >> name >> sm >> registers);
        recorded[file][name][sm] = registers;
    }
    REQUIRE(recorded.size() >= 20);
    Share share;
    for (const auto& [file, kernels] : recorded) {
        const auto result = parsed(read(std::filesystem::path(FLIPFLOP_SOURCE_DIR) / "examples" / file));
        for (std::uint32_t f = 0; f < result.modules.at(0).functions.size(); ++f) {
            const auto known = kernels.find(std::string(result.modules[0].functions[f].name));
            if (known == kernels.end()) continue;
            KernelCode code = analyse_kernel(result.modules[0], f);
            for (const auto& [sm, registers] : known->second) share.add(code, sm, registers);
        }
    }
    INFO(share.near_it << " near, " << share.inside << " inside the interval, of " << share.all);
    REQUIRE(share.all >= 150);
    CHECK(share.near_it >= kExamplesNear * share.all);
    CHECK(share.inside >= 0.9 * share.all);
}

TEST_CASE("short functions are taken into their callers, others follow the ABI", "[passes][registers]") {
    const auto with_callee = [](unsigned instructions) {
        std::string body = ".func (.param .b32 r) twice(.param .b32 x) {\n.reg .b32 %a;\nld.param.b32 %a, [x];\n";
        for (unsigned i = 0; i < instructions; ++i) body += "add.s32 %a, %a, 1;\n";
        return ".version 8.0\n.target sm_80\n.address_size 64\n" + body + "st.param.b32 [r], %a;\nret;\n}\n"
               ".visible .entry k(.param .u64 a) {\n.reg .b32 %r<3>;\n.reg .b64 %rd1;\nld.param.u64 %rd1, [a];\nmov.u32 %r1, %tid.x;\n"
               "{\n.param .b32 p;\n.param .b32 q;\nst.param.b32 [p], %r1;\ncall.uni (q), twice, (p);\nld.param.b32 %r2, [q];\n}\n"
               "st.global.u32 [%rd1], %r2;\nret;\n}\n";
    };
    CHECK(estimate(with_callee(4), 80, 1).registers_per_thread <= 16);
    CHECK(estimate(with_callee(400), 80, 1).registers_per_thread >= 24);
}

TEST_CASE("launch bounds ask for no more blocks than an SM holds", "[passes][registers]") {
    const std::string text = kernel(".maxntid 1024\n.minnctapersm 2", live(200));   // two such blocks fit on sm_80, one on sm_86 and sm_75
    CHECK(estimate(text, 80).registers_per_thread == 32);
    CHECK(estimate(text, 86).registers_per_thread == 64);
    CHECK(estimate(text, 75).registers_per_thread == 64);
}

TEST_CASE("values that are cheap to make again are not all kept through a loop", "[passes][registers]") {
    // Forty sums of the thread's index, all read after a loop that needs twenty loaded values.
    std::string body = "ld.param.u64 %rd1, [a];\nld.param.u32 %r300, [n];\nmov.u32 %r0, %tid.x;\n", dear = body;
    for (unsigned i = 1; i <= 40; ++i) {
        body += "add.s32 %r" + std::to_string(i) + ", %r0, " + std::to_string(i) + ";\n";
        dear += "ld.volatile.global.u32 %r" + std::to_string(i) + ", [%rd1+" + std::to_string(4 * i) + "];\n";
    }
    std::string rest = "mov.u32 %r301, 0;\n$loop:\n";
    for (unsigned i = 0; i < 20; ++i) rest += "ld.volatile.global.f32 %f" + std::to_string(i) + ", [%rd1+" + std::to_string(400 + 4 * i) + "];\n";
    for (unsigned i = 0; i < 20; ++i) rest += "st.volatile.global.f32 [%rd1+" + std::to_string(400 + 4 * i) + "], %f" + std::to_string(i) + ";\n";
    rest += "add.s32 %r301, %r301, 1;\nsetp.lt.s32 %p1, %r301, %r300;\n@%p1 bra $loop;\n";
    for (unsigned i = 1; i <= 40; ++i) rest += "st.volatile.global.u32 [%rd1+" + std::to_string(4 * i) + "], %r" + std::to_string(i) + ";\n";
    CHECK(estimate(kernel("", body + rest)).registers_per_thread < estimate(kernel("", dear + rest)).registers_per_thread);
}

// Hidden: prints a line a kernel: ptxas, estimate, interval, '*' where it is off. FLIPFLOP_REGISTERS names a folder of PTX.
TEST_CASE("register table", "[.registers]") {
    const auto tool = installed_ptxas();
    if (!tool) {
        std::cout << "skipped: " << tool.error().message << '\n';
        return;
    }
    const char* given = std::getenv("FLIPFLOP_REGISTERS");
    const auto files = ptx_below(given != nullptr ? given : (std::filesystem::path(FLIPFLOP_SOURCE_DIR) / "examples").string());
    std::cout << "ptxas " << tool->version << ": registers, estimate, [interval]\n";
    for (const std::uint32_t sm : {80U, 90U, 120U}) {
        const Share share = compare(files, *tool, sm, true);
        std::cout << "sm_" << sm << ": " << share.near_it << " of " << share.all << " within 10 % or 2 registers, " << share.inside << " inside the interval\n";
    }
    SUCCEED();
}
