// Python expressions of tuning files: the same answers as Python, and nothing but answers.
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "tuning/python_expression.hpp"

using namespace flipflop;
using namespace flipflop::tuning;

namespace {

std::string answer(const std::string& text) {
    const auto e = Expression::parse(text, {"FF0841", "test", ""});
    if (!e) return "refused: " + e.error().message;
    const auto v = e->evaluate();
    return v ? v->literal() : "error: " + v.error().message;
}

}  // namespace

TEST_CASE("expressions give what Python gives", "[tune]") {
    // Each right side is what CPython 3.11 printed for repr(eval(left)).
    static const std::pair<const char*, const char*> kCases[]{
        {"1 + 2 * 3", "7"}, {"(1 + 2) * 3", "9"}, {"2 ** 3 ** 2", "512"}, {"-2 ** 2", "-4"}, {"2 ** -1", "0.5"}, {"7 // 2", "3"}, {"-7 // 2", "-4"}, {"7 // -2", "-4"},
        {"-7 % 3", "2"}, {"7 % -3", "-2"}, {"7 / 2", "3.5"}, {"4 / 2", "2.0"}, {"7.5 // 2", "3.0"}, {"-7.5 % 2", "0.5"}, {"32 % ((16 * 8) / 32)", "0.0"},
        {"1 < 2 < 3", "True"}, {"1 < 3 < 2", "False"}, {"32 <= 16 * 4 <= 1024", "True"}, {"1 == 1.0", "True"}, {"True == 1", "True"}, {"not 0", "True"}, {"1 and 5", "5"}, {"0 and 5", "0"},
        {"0 or 7", "7"}, {"3 or 7", "3"}, {"not 1 == 2", "True"}, {"2 in [1, 2, 3]", "True"}, {"4 not in [1, 2, 3]", "True"}, {"'b' in 'abc'", "True"}, {"5 if 2 > 1 else 6", "5"},
        {"[32 * i for i in range(1, 4)]", "[32, 64, 96]"}, {"[2**i for i in range(5, 11)][::-1]", "refused"}, {"[1] + [2 * i for i in range(1, 4)]", "[1, 2, 4, 6]"},
        {"list(range(1, 9))", "[1, 2, 3, 4, 5, 6, 7, 8]"}, {"[1, 2, 4] + list(range(32, 129, 32))", "[1, 2, 4, 32, 64, 96, 128]"}, {"list(range(5, 0, -2))", "[5, 3, 1]"}, {"[x for x in range(10) if x % 3 == 0]", "[0, 3, 6, 9]"},
        {"[x * y for x in [1, 2] for y in [3, 4] if x != y]", "[3, 4, 6, 8]"}, {"[a + b for a, b in [(1, 2), (3, 4)]]", "[3, 7]"}, {"[[x for x in range(y)] for y in range(3)]", "[[], [0], [0, 1]]"},
        {"max(3, 1, 2)", "3"}, {"min([3, 1, 2])", "1"}, {"max(x * x for x in range(4))", "9"}, {"sum([1, 2, 3])", "6"}, {"len([1, 2])", "2"}, {"abs(-3)", "3"}, {"int(3.9)", "3"}, {"int(-3.9)", "-3"},
        {"round(2.5)", "2"}, {"round(3.5)", "4"}, {"sorted([3, 1, 2])", "[1, 2, 3]"}, {"any([0, 1])", "True"}, {"all([0, 1])", "False"}, {"float(2)", "2.0"}, {"bool([])", "False"}, {"[1, 2, 3][-1]", "3"},
        {"0x10 + 0b11 + 1_000", "1019"}, {"1e3", "1000.0"}, {"6 & 3", "2"}, {"6 | 3", "7"}, {"6 ^ 3", "5"}, {"~5", "-6"}, {"1 << 10", "1024"}, {"-8 >> 1", "-4"}, {"(1 > 0) & (2 > 1)", "True"},
        {"['float', \"double\"]", "['float', 'double']"}, {"(1, 2)", "[1, 2]"}, {"(1)", "1"}, {"[]", "[]"}, {"[0.25, 0.5]", "[0.25, 0.5]"}, {"pow(2, 5)", "32"}, {"True + 1", "2"}, {"[1] * 3", "[1, 1, 1]"}};
    for (const auto& [text, expected] : kCases) {
        INFO(text);
        const std::string got = answer(text);
        if (std::string(expected) == "refused") CHECK(got.starts_with("refused"));
        else CHECK(got == expected);
    }
}

TEST_CASE("what is not arithmetic is refused by name", "[tune]") {
    for (const char* text : {"__import__('os').system('true')", "open('x')", "x.__class__", "lambda: 1", "eval('1')", "exec('1')", "print(1)", "{1: 2}", "{1, 2}", "f'{1}'", "b'x'", "a := 3", "1; 2",
                             "import os", "[i for i in range(3)", "a && b", "!a", "a = 1", "1 +", "", "range(1)(2)", "[*range(3)]", "max(1, key=2)", "'", "0x", "1.2.3", "is", "a is b", "99999999999999999999"}) {
        INFO(text);
        CHECK(answer(text).starts_with("refused"));
    }
    CHECK(answer("eval('1')").find("'eval' is not known here, and nothing else is ever called") != std::string::npos);
}

TEST_CASE("what has no answer is an error and never a wrong number", "[tune]") {
    for (const char* text : {"1 / 0", "1 // 0", "1 % 0", "0 ** -1", "9223372036854775807 + 1", "2 ** 64", "3 ** 9 ** 9", "1 << 64", "-(-9223372036854775807 - 1)", "max([])", "'a' < 1", "[1, 2][2]", "1 in 2",
                             "1 + 'a'", "unknown + 1", "range(10, 0, 0)", "int('x')", "sum(['a'])", "int(1e300)", "[i for i in 5]"}) {
        INFO(text);
        CHECK(answer(text).starts_with("error"));
    }
}

TEST_CASE("work, depth and memory are bounded", "[tune]") {
    CHECK(answer("list(range(10**12))").starts_with("error"));
    CHECK(answer("[[i for i in range(100000)] for j in range(100000)]").starts_with("error"));
    CHECK(answer("[0] * 10**15").starts_with("error"));
    CHECK(answer(std::string(5000, '(') + "1" + std::string(5000, ')')).starts_with("refused"));
    CHECK(answer(std::string(5000, '-') + "1").starts_with("refused"));
    std::string nots;
    for (int i = 0; i < 5000; ++i) nots += "not ";
    CHECK(answer(nots + "1").starts_with("refused"));
    CHECK(answer(std::string(100'000, '1')).starts_with("refused"));
    // Long and flat is no depth.
    std::string sum = "0";
    for (int i = 0; i < 2000; ++i) sum += "+1";
    CHECK(answer(sum) == "2000");
}

TEST_CASE("free names are those that no comprehension binds", "[tune]") {
    const auto e = Expression::parse("[x * n for x in range(m) if x < k] + [x]", {});
    REQUIRE(e);
    CHECK(e->names() == std::vector<std::string>{"m", "k", "n", "x"});
    const Value m = Value::of(std::int64_t{4}), k = Value::of(std::int64_t{3}), n = Value::of(std::int64_t{10}), x = Value::of(std::int64_t{7});
    const Value* const values[]{&m, &k, &n, &x};
    const auto v = e->evaluate(values);
    REQUIRE(v);
    CHECK(v->literal() == "[0, 10, 20, 7]");
}

TEST_CASE("an error points at its place", "[tune]") {
    const auto e = Expression::parse("1 + foo(2)", {"FF0841", "spec.json", "condition 2"});
    REQUIRE_FALSE(e);
    CHECK(e.error().at.column == 5);
    CHECK(e.error().source_line == "1 + foo(2)");
    CHECK(e.error().message.starts_with("condition 2: "));
}

TEST_CASE("a very long row of operators does not reach the end of the stack", "[tune]") {
    std::string sum = "0";
    for (int i = 0; i < 30'000; ++i) sum += "+1";
    CHECK(answer(sum).starts_with("refused"));
}
