// The adapter for ptxas: the log's fields, and a tool that is absent, broken, slow or endless.
#include <fstream>
#include <sys/stat.h>

#include "catch.hpp"
#include "inputs/process.hpp"
#include "passes/ptxas_resources.hpp"

using namespace flipflop;

namespace {

/// A shell script that stands for a tool.
std::string script(const TemporaryFolder& folder, const std::string& name, const std::string& body) {
    const std::string path = (folder.path() / name).string();
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    ::chmod(path.c_str(), 0755);
    return path;
}

}  // namespace

TEST_CASE("ptxas logs, old and new, whole and in part", "[passes][ptxas]") {
    struct Row { const char* log; const char* name; const char* arch; int registers, barriers; int smem, stack, stores, loads; };
    const Row rows[] = {
        {"ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function 'k' for 'sm_90'\nptxas info    : Function properties for k\n"
         "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
         "ptxas info    : Used 22 registers, used 1 barriers, 2048 bytes smem\nptxas info    : Compile time = 7.833 ms\n",
         "k", "sm_90", 22, 1, 2048, 0, 0, 0},
        // CUDA 11: no barriers in the line when there are none; the callee's frame is not the kernel's.
        {"nvcc noise\r\nptxas info    : Compiling entry function '_Z1kPf' for 'sm_80'\r\nptxas info    : Function properties for _Z1kPf\r\n"
         "    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\r\nptxas info    : Used 255 registers, 360 bytes cmem[0], 8 bytes cmem[2]\r\n"
         "ptxas info    : Function properties for _Z3putPffi\r\n    99 bytes stack frame, 98 bytes spill stores, 97 bytes spill loads\r\n",
         "_Z1kPf", "sm_80", 255, -1, 0, 16, 12, 8},
        {"ptxas info    : Compiling entry function 'old' for 'sm_20'\nptxas info    : Used 14 registers, 2048+16 bytes smem, 48 bytes cmem[0]\n",
         "old", "sm_20", 14, -1, 2064, -1, -1, -1},
        {"ptxas info : Compiling entry function 'cut' for 'sm_80'\nptxas info : Function properties for cut\n    0 bytes sta",
         "cut", "sm_80", -1, -1, -1, -1, -1, -1},
    };
    for (const Row& row : rows) {
        INFO(row.log);
        const auto report = parse_ptxas_log(row.log);
        REQUIRE(report);
        REQUIRE(report->size() == 1);
        const PtxasKernel* k = find_kernel(*report, row.name, row.arch);
        REQUIRE(k != nullptr);
        const auto same = [](const auto& field, int wanted) { return wanted < 0 ? !field.has_value() : field && *field == static_cast<unsigned>(wanted); };
        CHECK(same(k->registers, row.registers));
        CHECK(same(k->barriers, row.barriers));
        CHECK(same(k->shared_bytes, row.smem));
        CHECK(same(k->stack_frame_bytes, row.stack));
        CHECK(same(k->spill_store_bytes, row.stores));
        CHECK(same(k->spill_load_bytes, row.loads));
        CHECK(find_kernel(*report, row.name, "sm_35") == nullptr);
        CHECK(find_kernel(*report, row.name, "") == k);
    }
    for (const char* nothing : {"", "\n\n", "ptxas fatal   : Unresolved extern function 'f'\n", "Used 12 registers\n"}) {
        const auto report = parse_ptxas_log(nothing);
        REQUIRE(!report);
        CHECK(report.error().id == "FF0605");
    }
}

TEST_CASE("what ptxas does not say stays as it was estimated", "[passes][ptxas]") {
    Resources estimate;
    estimate.registers_per_thread = 30;
    estimate.registers_low = 24;
    estimate.registers_high = 40;
    estimate.static_shared_bytes = 512;
    estimate.barriers = 1;
    PtxasKernel measured;
    measured.registers = 34;
    const Resources refined = refine(estimate, measured);
    CHECK(refined.registers_basis == RegistersBasis::ptxas);
    CHECK((refined.registers_per_thread == 34 && refined.registers_low == 34 && refined.registers_high == 34));
    CHECK(refined.static_shared_bytes == 512);
    CHECK(refined.barriers == 1u);
    CHECK(!refined.spill_store_bytes);
    CHECK(refine(estimate, PtxasKernel{}).registers_basis == RegistersBasis::estimate);
}

TEST_CASE("a tool that is absent, broken, slow, loud or crashes", "[passes][ptxas]") {
    const auto folder = TemporaryFolder::make(std::filesystem::temp_directory_path().string());
    REQUIRE(folder);
    ToolEnvironment environment;
    environment.path = folder->path().string() + ":/nowhere";
    CHECK(find_ptxas("", environment).error().id == "FF0601");
    CHECK(find_ptxas("/nowhere/ptxas", environment).error().id == "FF0602");
    CHECK(find_ptxas(script(*folder, "mute", "exit 0"), environment).error().id == "FF0604");

    script(*folder, "ptxas", "echo 'Cuda compilation tools, release 13.0, V13.0.88'");
    auto tool = find_ptxas("", environment);
    REQUIRE(tool);
    CHECK(tool->version == "13.0.88");
    tool->temporary_folder = folder->path().string();
    CHECK(run_ptxas(*tool, "", "sm_80").error().id == "FF0605");   // runs, but says nothing of a kernel

    tool->path = script(*folder, "broken", "echo \"ptxas $4, line 3; error   : Syntax error\" >&2; exit 255");
    const auto broken = run_ptxas(*tool, "x", "sm_80");
    REQUIRE(!broken);
    CHECK(broken.error().id == "FF0604");
    CHECK(broken.error().message.find("line 3; error   : Syntax error") != std::string::npos);

    tool->path = script(*folder, "crash", "kill -SEGV $$");
    CHECK(run_ptxas(*tool, "x", "sm_80").error().id == "FF0604");
    tool->path = script(*folder, "slow", "sleep 100 & sleep 100");
    tool->timeout = std::chrono::milliseconds(150);
    CHECK(run_ptxas(*tool, "x", "sm_80").error().id == "FF0603");
    tool->path = script(*folder, "good", "echo \"ptxas info : Compiling entry function 'k' for '${2#-arch=}'\"; echo 'ptxas info : Used 9 registers'; cat $3 >&2");
    tool->timeout = std::chrono::seconds(20);
    const auto good = run_ptxas(*tool, "text", "sm_86");
    REQUIRE(good);
    CHECK(good->front().architecture == "sm_86");
    CHECK(good->front().registers == 9u);
}

TEST_CASE("processes: input, output, limits", "[inputs][process]") {
    const auto folder = TemporaryFolder::make(std::filesystem::temp_directory_path().string());
    REQUIRE(folder);
    ProcessOptions options;
    options.standard_input = std::string(300000, 'x');
    const auto echo = run_process({script(*folder, "echo", "cat; echo done >&2; exit 3")}, options);
    REQUIRE(echo);
    CHECK(echo->output == options.standard_input);
    CHECK(echo->errors == "done\n");
    CHECK(echo->exit_code == 3);
    CHECK(!echo->output_cut);

    const auto deaf = run_process({script(*folder, "deaf", "exec 0<&-; exit 0")}, options);   // SIGPIPE must not reach us
    REQUIRE(deaf);
    CHECK(deaf->succeeded());

    options.max_output_bytes = 1000;
    options.standard_input.clear();
    const auto loud = run_process({script(*folder, "loud", "head -c 20000000 /dev/zero")}, options);
    REQUIRE(loud);
    CHECK(loud->output.size() == 1000);
    CHECK(loud->output_cut);

    // A grandchild that keeps the pipe open does not hold us up.
    const auto orphan = run_process({script(*folder, "orphan", "echo first; sleep 100 & exit 0")}, options);
    REQUIRE(orphan);
    CHECK(orphan->output == "first\n");
    CHECK(!orphan->timed_out);

    options.working_directory = folder->path().string();
    const auto where = run_process({script(*folder, "where", "pwd -P")}, options);
    REQUIRE(where);
    CHECK(where->output == std::filesystem::canonical(folder->path()).string() + "\n");
    CHECK(!find_executable("no-such-tool", "/usr/bin:/bin"));
    CHECK(find_executable("sh", "::/nowhere:/usr/bin:/bin"));

    std::filesystem::path gone;
    {
        const auto inner = TemporaryFolder::make(folder->path().string());
        REQUIRE(inner);
        gone = inner->path();
        REQUIRE(std::filesystem::is_directory(gone));
    }
    CHECK(!std::filesystem::exists(gone));
    CHECK(TemporaryFolder::make("/nowhere").error().id == "FF0606");
}
