// The cases of tests/data/reblocking_own: what is said of each candidate, and what running it with real numbers shows.
#include <iostream>

#include <nlohmann/json.hpp>

#include "naive/naive_execution.hpp"
#include "safety_support.hpp"

using namespace safety;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const fs::path kFolder = fs::path(FLIPFLOP_SOURCE_DIR) / "tests" / "data" / "reblocking_own";

Dim3 dim(const json& j) { return {j.at(0), j.at(1), j.at(2)}; }

/// One entry of cases.json.
struct Case {
    const json& j;
    Kernel kernel;
    Rule rule;

    explicit Case(const json& described) : j(described), kernel(Kernel::from(kFolder / described.at("ptx").get<std::string>(), described.at("kernel"))) {
        if (j.contains("grid")) rule.fixed = dim(j.at("grid"));
        else rule.work = dim(j.at("work"));
    }
    [[nodiscard]] Launch launch(const Dim3& block) const {
        const json args = j.value("args", json::object()), fields = j.value("fields", json::object()), dynamic = j.value("dynamic", json::object());
        std::vector<std::pair<std::size_t, std::uint64_t>> arguments;
        for (const auto& [index, value] : args.items()) arguments.emplace_back(std::stoul(index), value.get<std::uint64_t>());
        Launch l = kernel.launch(block, rule.grid(block), arguments, dynamic.value("all", 0u) + dynamic.value("thread", 0u) * block.count());
        for (const auto& [index, parts] : fields.items()) {
            auto& bytes = l.arguments.at(std::stoul(index)).bytes;
            bytes.clear();
            for (const json& field : parts) {
                const ArgumentValue a = number(field.at(1), field.at(0));
                bytes.insert(bytes.end(), a.bytes.begin(), a.bytes.end());
            }
        }
        return l;
    }
    [[nodiscard]] naive::Execution executed(const Launch& l) const {
        static const std::map<std::string, naive::Numbers> kWords{
            {"spread", naive::Numbers::spread}, {"u32", naive::Numbers::u32}, {"small", naive::Numbers::small}, {"zero", naive::Numbers::zero}, {"halves", naive::Numbers::halves}};
        const json data = j.value("data", json::object());
        std::map<std::uint64_t, naive::Numbers> kinds;
        for (const auto& [index, word] : data.items()) kinds[std::stoul(index) + 1] = kWords.at(word);
        return naive::execute(kernel.module(), kernel.entry(), l, kinds);
    }
};

std::string word_of(const std::optional<bool>& safe) { return !safe ? "unverified" : *safe ? "safe" : "unsafe"; }

json all_cases() { return json::parse(file_text(kFolder / "cases.json")).at("cases"); }

}  // namespace

TEST_CASE("re-blocking: verdicts on kernels of our own", "[safety]") {
    const json cases = all_cases();
    REQUIRE(cases.size() >= 40);
    for (const json& described : cases) {
        const Case c(described);
        const flipflop::ReblockingJudge judge(c.kernel.code(), c.launch(dim(c.j.at("current"))), false);
        for (const auto& [block, expected] : c.j.at("candidates").items()) {
            INFO(c.j.at("kernel") << " " << block << ": " << expected.at(2));
            const SafetyVerdict v = judge.judge(c.launch(shape(block)));
            INFO(v.reason);
            CHECK(word(v) == expected.at(1).get<std::string>());
            CHECK_FALSE(v.reason.empty());
            // What is expected is the truth, or it is left open.
            CHECK((expected.at(1) == "unverified" || expected.at(0) == expected.at(1)));
        }
    }
}

TEST_CASE("re-blocking: execution confirms the cases' truths", "[safety][naive]") {
    unsigned followed = 0, all = 0;
    const json cases = all_cases();
    for (const json& described : cases) {
        const Case c(described);
        const naive::Execution reference = c.executed(c.launch(dim(c.j.at("current"))));
        for (const auto& [block, expected] : c.j.at("candidates").items()) {
            if (expected.at(0).is_null()) continue;
            const naive::Judgement judged = naive::judge(reference, c.executed(c.launch(shape(block))));
            ++all;
            INFO(c.j.at("kernel") << " " << block << ": " << expected.at(2));
            INFO(judged.why);
            if (!judged.safe) {
                std::cout << "not executed: " << c.j.at("kernel") << " " << block << ": " << judged.why << "\n";
                continue;
            }
            ++followed;
            CHECK(word_of(judged.safe) == expected.at(0).get<std::string>());
        }
    }
    CHECK(followed * 10 >= all * 9);
    std::cout << "re-blocking: " << followed << " of " << all << " candidates executed\n";
}
