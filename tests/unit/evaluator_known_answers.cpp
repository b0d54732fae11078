// The known answers through the library alone: the same checks as grade.py makes through the command.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "flipflop/evaluator.hpp"

using nlohmann::json;
namespace fs = std::filesystem;
using namespace flipflop;

namespace {

bool close(std::optional<double> a, double b, double relative = 2e-3) {
    return a && std::abs(*a - b) <= relative * std::max(1.0, std::abs(b));
}

std::shared_ptr<const std::string> text_of(const fs::path& path) {
    std::ifstream in(path);
    std::stringstream all;
    all << in.rdbuf();
    return std::make_shared<const std::string>(all.str());
}

ArgumentValue little_endian(std::uint64_t value, std::size_t bytes) {
    ArgumentValue a;
    for (std::size_t k = 0; k < bytes; ++k) a.bytes.push_back(static_cast<std::uint8_t>(value >> (8 * k)));
    a.given = true;
    return a;
}

/// Counts checks and keeps the words of those that do not hold.
struct Grade {
    int held{}, failed{};
    std::vector<std::string> misses;
    void check(const std::string& where, bool holds, const std::string& detail = {}) {
        if (holds) { ++held; return; }
        ++failed;
        misses.push_back(where + ": " + detail);
    }
};

std::string shown(std::optional<double> v) { return v ? std::to_string(*v) : "null"; }

struct Graded {
    const json& entry;
    const std::string& ptx;
    const json& launch;
    const KernelFacts& kernel;
    const LaunchFacts& facts;
    Grade& grade;
    std::string where;

    std::vector<const AccessFacts*> reported(const json& want, const json& instructions) const {
        std::vector<const AccessFacts*> mine;
        for (const json& m : instructions) {
            std::vector<const AccessFacts*> exact, any;
            for (std::size_t k = 0; k < kernel.accesses.size(); ++k) {
                if (kernel.accesses[k].ptx_line != m["ptx_line"].get<std::uint32_t>()) continue;
                any.push_back(&facts.accesses[k]);
                if (to_string(kernel.accesses[k].space) == want["space"].get<std::string>()) exact.push_back(&facts.accesses[k]);
            }
            if (exact.empty() && !any.empty()) exact.push_back(any.front());
            mine.insert(mine.end(), exact.begin(), exact.end());
        }
        return mine;
    }

    void access(const std::string& tag, const json& want, const std::vector<const AccessFacts*>& mine) {
        if (mine.empty()) return grade.check(where + tag, false, "no access at its PTX line");
        if (want.value("unknown", false)) {
            bool flagged = true;
            for (const AccessFacts* a : mine) flagged &= a->basis == CountBasis::unknown || !a->sectors_per_request;
            return grade.check(where + tag + ": unknown is flagged", flagged);
        }
        bool bound = want.value("unknown_count", false);
        for (const auto& [key, value] : want.items()) bound |= key.ends_with("_bound");
        if (bound) {
            bool flagged = true;
            for (const AccessFacts* a : mine) flagged &= a->basis != CountBasis::exact;
            return grade.check(where + tag + ": unknown count is flagged", flagged);
        }
        double requests = 0, sector_sum = 0, wavefront_sum = 0;
        bool counted = true, has_sectors = true, has_wavefronts = true;
        for (const AccessFacts* a : mine) {
            counted &= a->requests.has_value();
            const double n = a->requests.value_or(0);
            requests += n;
            if (n == 0) continue;
            has_sectors &= a->sectors_per_request.has_value();
            has_wavefronts &= a->wavefronts_per_request.has_value();
            sector_sum += n * a->sectors_per_request.value_or(0);
            wavefront_sum += n * a->wavefronts_per_request.value_or(0);
        }
        const auto when = [](bool known, double v) { return known ? std::optional<double>(v) : std::nullopt; };
        const auto total = when(counted, requests), sectors = when(counted && has_sectors, sector_sum),
                   wavefronts = when(has_wavefronts, wavefront_sum);
        const double executions = want["warp_execs_total"].get<double>();
        grade.check(where + tag + ": requests", close(total, executions), shown(total) + " for " + std::to_string(executions));
        if (want["space"] == "global" && want.contains("sectors_total")) {
            grade.check(where + tag + ": sectors", close(sectors, want["sectors_total"].get<double>()),
                        shown(sectors) + " for " + want["sectors_total"].dump());
        }
        if (want["space"] == "shared" && want.contains("wavefronts_per_request")) {
            std::optional<double> mean;
            if (total && *total > 0 && wavefronts) mean = *wavefronts / *total;
            grade.check(where + tag + ": wavefronts", close(mean, want["wavefronts_per_request"].get<double>()),
                        shown(mean) + " for " + want["wavefronts_per_request"].dump());
        }
    }

    void unique_bytes() {
        const json unique = launch.value("unique_bytes", json::object());
        bool skip = unique.contains("flag") && unique["flag"] != false && !unique["flag"].is_null() && unique["flag"] != "";
        for (const auto& [tag, a] : launch["accesses"].items()) skip |= a.value("unknown", false) || a.value("unknown_count", false);
        if (skip) return;
        for (const bool read : {true, false}) {
            const json side = unique.value(read ? "read" : "written", json::object());
            if (side.empty()) continue;
            double sum = 0;
            bool numbers = true;
            for (const auto& [name, v] : side.items()) {
                numbers &= v.is_number();
                if (v.is_number()) sum += v.get<double>();
            }
            const auto got = read ? facts.footprint.unique_read_bytes : facts.footprint.unique_written_bytes;
            if (numbers) grade.check(where + (read ? "unique read" : "unique written"), close(got, sum), shown(got) + " for " + std::to_string(sum) + " " + facts.footprint.why);
        }
    }

    void run() {
        std::map<std::string, json> lines;
        for (const json& m : entry["ptx"][ptx]["memory_instructions"]) lines[m["access"].get<std::string>()].push_back(m);
        for (const auto& [tag, want] : launch["accesses"].items()) {
            if (!lines.contains(tag)) continue;
            const std::string space = want["space"].get<std::string>();
            if (space != "global" && space != "shared" && space != "local" && space != "const") continue;
            access(tag, want, reported(want, lines[tag]));
        }
        if (launch.contains("barriers_per_thread") && launch["barriers_per_thread"].is_number())
            grade.check(where + "barriers", close(facts.barriers_per_thread, launch["barriers_per_thread"].get<double>()),
                        shown(facts.barriers_per_thread) + " for " + launch["barriers_per_thread"].dump());
        const json fp32 = launch.value("fp32", json::object());
        double want = 0;
        for (const char* key : {"fma_total", "add_total", "mul_total"}) {
            if (!fp32.contains(key) || !fp32[key].is_number()) { want = 0; break; }
            want += fp32[key].get<double>();
        }
        if (want > 0) grade.check(where + "fp32", facts.thread_ops[0] >= want * 0.998, std::to_string(facts.thread_ops[0]) + " for at least " + std::to_string(want));
        unique_bytes();
        loops();
    }

    /// Beyond grade.py: trip counts, where PTX and source agree on how many loops there are.
    void loops() {
        const json want = launch.value("loops", json::object());
        if (want.size() != 1 || facts.loops.size() != 1) return;
        const json& loop = *want.begin();
        if (loop.value("unknown", false)) return grade.check(where + "loop unknown", facts.loops[0].basis == CountBasis::unknown);
        if (loop.contains("trip_avg") && loop["trip_avg"].is_number() && loop["trip_avg"].get<double>() > 0 && entry["ptx"][ptx]["memory_instructions"][0].value("one_to_one", false))
            loop_means.push_back({where, loop["trip_avg"].get<double>(), facts.loops[0].trip_mean});
    }
    struct Mean { std::string where; double want; std::optional<double> got; };
    std::vector<Mean> loop_means;
};

Launch launch_of(const json& entry, const json& l, const KernelFacts& kernel) {
    Launch launch;
    launch.block = {l["block"][0], l["block"][1], l["block"][2]};
    launch.grid = {l["grid"][0], l["grid"][1], l["grid"][2]};
    launch.dynamic_shared_bytes = l["dynamic_smem"].get<std::uint64_t>();
    for (const ParameterFacts& p : kernel.parameters) {
        std::uint64_t value = std::uint64_t{0x1000000000} * (p.index + 1);
        for (const json& described : entry["params"]) {
            if (described["index"].get<std::uint32_t>() != p.index || described["kind"] == "ptr") continue;
            const json& v = l["params"].value(described["name"].get<std::string>(), json());
            if (described["kind"] == "f32" && v.is_number()) {
                const float f = v.get<float>();
                std::uint32_t bits;
                static_assert(sizeof bits == sizeof f);
                std::memcpy(&bits, &f, sizeof bits);
                value = bits;
            } else if (v.is_number()) {
                value = static_cast<std::uint64_t>(v.get<std::int64_t>());
            }
        }
        launch.arguments.push_back(little_endian(value, p.bytes));
    }
    return launch;
}

}  // namespace

TEST_CASE("known answers hold", "[evaluator][known-answers]") {
    const fs::path root = fs::path(FLIPFLOP_SOURCE_DIR) / "tests/data/known_answers";
    Grade grade;
    const char* only = std::getenv("FLIPFLOP_ONLY");
    std::vector<fs::path> folders;
    for (const auto& d : fs::directory_iterator(root))
        if (fs::exists(d.path() / "expected.json")) folders.push_back(d.path());
    std::sort(folders.begin(), folders.end());
    REQUIRE(folders.size() >= 30);
    for (const fs::path& folder : folders) {
        if (only && folder.filename() != only) continue;
        std::ifstream in(folder / "expected.json");
        const json expected = json::parse(in);
        for (const std::string ptx : expected["ptx_files"]) {
            const auto parsed = ptx::parse(text_of(folder / ptx), ptx);
            REQUIRE(parsed.modules.size() == 1);
            const ptx::Module& module = parsed.modules[0];
            for (const json& entry : expected["entries"]) {
                if (!entry["ptx"].contains(ptx)) continue;
                for (std::uint32_t f = 0; f < module.functions.size(); ++f) {
                    if (module.functions[f].name != entry["entry"].get<std::string>()) continue;
                    const KernelCode code = analyse_kernel(module, f);
                    const Evaluator evaluator(code);
                    for (const json& l : entry["launches"]) {
                        const LaunchFacts facts = evaluator.evaluate(launch_of(entry, l, code.facts));
                        Graded{entry, ptx, l, code.facts, facts, grade, ptx + " " + l["id"].get<std::string>() + " ", {}}.run();
                    }
                }
            }
        }
    }
    for (const std::string& miss : grade.misses) std::cout << miss << '\n';
    const double share = 100.0 * grade.held / std::max(1, grade.held + grade.failed);
    std::cout << grade.held << " of " << grade.held + grade.failed << " known answers hold (" << share << " %)\n";
    CHECK((only || grade.held + grade.failed > 2300));
    CHECK(share >= 99.5);
}
