// Two thousand instructions with constants against tests/data/ptx_semantics.tsv, which tools/ptx_semantics.py worked out from
// the text of the PTX ISA. Each row's result becomes the address of a store.
#include <charconv>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "catch.hpp"
#include "evaluator/machine.hpp"

using namespace flipflop;
using namespace flipflop::eval;

namespace {

struct Row {
    char result{};
    u64 expected{};
    std::string statements;
};

std::vector<Row> read_rows() {
    std::ifstream in(std::string(FLIPFLOP_SOURCE_DIR) + "/tests/data/ptx_semantics.tsv");
    std::vector<Row> rows;
    for (std::string line; std::getline(in, line);) {
        if (line.empty() || line[0] == '#') continue;
        const auto first = line.find('\t'), second = line.find('\t', first + 1);
        Row row;
        row.result = line[0];
        std::from_chars(line.data() + first + 1, line.data() + second, row.expected, 16);
        row.statements = line.substr(second + 1);
        rows.push_back(std::move(row));
    }
    return rows;
}

std::string_view as_address(char result) {
    switch (result) {
    case 'r': return "cvt.u64.u32 %rd0, %r0;";
    case 'h': return "cvt.u64.u16 %rd0, %rs0;";
    case 'p': return "selp.u64 %rd0, 1, 0, %p0;";
    case 'f': return "mov.b32 %r0, %f0; cvt.u64.u32 %rd0, %r0;";
    case 'g': return "mov.b64 %rd0, %fd0;";
    default: return "";
    }
}

/// What each row stores to; empty where the evaluator does not know it.
std::vector<std::optional<u64>> addresses(const std::vector<Row>& rows, std::size_t begin, std::size_t end) {
    std::string text = R"(.version 8.8
.target sm_90a
.address_size 64
.visible .entry k()
{
.reg .pred %p<10>; .reg .b16 %rs<10>; .reg .b32 %r<10>; .reg .b64 %rd<20>; .reg .f32 %f<10>; .reg .f64 %fd<10>;
)";
    for (std::size_t k = begin; k < end; ++k)
        text += fmt::format("{}\n{}\nst.global.u8 [%rd0], 0;\n", rows[k].statements, as_address(rows[k].result));
    text += "ret;\n}\n";
    const auto parsed = ptx::parse(std::make_shared<const std::string>(text), "table");
    for (const Diagnostic& d : parsed.diagnostics) UNSCOPED_INFO(render(d));
    REQUIRE(parsed.errors == 0);
    const KernelCode code = analyse_kernel(parsed.modules[0], 0);
    const Program program = prepare(code);
    Launch launch;
    launch.block = {32, 1, 1};
    launch.grid = {1, 1, 1};
    Session session(program, launch);
    session.budget = 1'000'000;
    Machine machine(session);
    machine.start({}, group_warps(launch.block, true).front());
    while (machine.run() != Machine::Status::done) {}
    REQUIRE(session.trace.records.size() == end - begin);
    std::vector<std::optional<u64>> out;
    for (const AccessRecord& r : session.trace.records) out.push_back(r.shape == kNone ? std::nullopt : std::optional(r.base));
    return out;
}

}  // namespace

TEST_CASE("instructions agree with values worked out from the text of the PTX ISA", "[evaluator][semantics][table]") {
    const std::vector<Row> rows = read_rows();
    REQUIRE(rows.size() > 2000);
    constexpr std::size_t batch = 64;
    for (std::size_t begin = 0; begin < rows.size(); begin += batch) {
        const std::size_t end = std::min(begin + batch, rows.size());
        const auto got = addresses(rows, begin, end);
        for (std::size_t k = begin; k < end; ++k) {
            INFO("row " << k << ": " << rows[k].statements);
            CHECKED_IF(got[k - begin].has_value()) {
                CHECK(fmt::format("{:x}", *got[k - begin]) == fmt::format("{:x}", rows[k].expected));
            }
            CHECKED_ELSE(got[k - begin].has_value()) { FAIL_CHECK("not known"); }
        }
    }
}
