#include "catch.hpp"
#include "flipflop/report.hpp"
#include "report/text_format.hpp"
#include "report_sample.hpp"

using namespace flipflop;
using namespace flipflop::report;

TEST_CASE("numbers keep as many digits as they are worth", "[report]") {
    struct Row { double value; int digits; const char* text; };
    for (const Row& row : {Row{212.4, 3, "212"}, Row{31.44, 3, "31.4"}, Row{0.0751, 3, "0.0751"}, Row{9.996, 3, "10"}, Row{1234, 3, "1230"}, Row{99.96, 3, "100"},
                           Row{0.5, 3, "0.5"}, Row{0, 3, "0"}, Row{-61.2, 2, "-61"}, Row{1e-7, 3, "1.00e-07"}, Row{1410, 4, "1410"}}) {
        CHECK(significant(row.value, row.digits) == row.text);
    }
    CHECK(grouped(67108864) == "67,108,864");
    CHECK(grouped(999) == "999");
    CHECK(bytes_text(5120) == "5,120 B");
    CHECK(bytes_text(134217728) == "134 MB");
    CHECK(bytes_text(999'600) == "1 MB");
    CHECK(count_text(524288) == "524,288");
    CHECK(count_text(16.8e6) == "16.8 M");
    CHECK(time_text(212.3) == "212 \u00b5s");
    CHECK(time_text(45'000) == "45 ms");
    CHECK(percent(0.987) == "99 %");
    CHECK(percent(1) == "100 %");
    CHECK(percent(0.0351) == "3.5 %");
}

TEST_CASE("an interval decides the digits of its value", "[report]") {
    CHECK(with_interval(212.3, 190.2, 236.4) == "212 (190-236)");
    CHECK(with_interval(31.44, 28.1, 35.4) == "31.4 (28-35)");
    CHECK(with_interval(212.3, 120, 340) == "210 (120-340)");
    CHECK(with_interval(1234, 1100, 1400) == "1230 (1100-1400)");
    CHECK(with_interval(0.512, 0.50, 0.52) == "0.512 (0.500-0.520)");
    CHECK(with_interval(5.93, 3.9, 9.2) == "5.9 (3.9-9.2)");
    CHECK(with_interval(0.713, 0.43, 1.21) == "0.71 (0.43-1.2)");
    CHECK(with_interval(5, 5, 5) == "5");
}

TEST_CASE("a ratio whose interval holds one is no difference", "[report]") {
    CHECK(change_text(0.79, 0.75, 0.83, "time") == "21 % less time (17-25)");
    CHECK(change_text(0.1, 0.08, 0.125, "time") == "10 times less time (8-13)");
    CHECK(change_text(6, 5, 7, "energy") == "6 times more energy (5-7)");
    CHECK(change_text(1, 1, 1, "time") == "the same time");
    CHECK(energy_text(23000) == "23 J");
    CHECK(change_text(1.08, 1.02, 1.14, "time") == "8 % more time (2-14)");
    CHECK(change_text(0.99, 0.96, 1.03, "time") == "no clear difference in time (-4 to +3 %)");
}

TEST_CASE("text from an input cannot reach a terminal as control codes", "[report]") {
    CHECK(printable("a\x1b[31mb\x07") == "a?[31mb?");
    CHECK(printable("\xc2\x9b" "31m\x7f") == "?31m?");
    CHECK(printable("\xff") == "\xEF\xBF\xBD");
    CHECK(printable("\u00b5s") == "\u00b5s");
    Analysis analysis = sample::analysis();
    analysis.kernels[0].facts.demangled = "evil\x1b]0;title\x07(`|<b>@you*)";
    analysis.kernels[0].results[0].findings[0].message = "\x1b[2J<script>|`";
    const std::string text = text_report(analysis, {});
    CHECK(text.find('\x1b') == std::string::npos);
    const std::string markdown = markdown_report(analysis);
    CHECK(markdown.find('\x1b') == std::string::npos);
    CHECK(markdown.find("<script>") == std::string::npos);
    CHECK(markdown.find("## `evil?]0;title?('/<b>@you*)`") != std::string::npos);
}

TEST_CASE("long names are cut in the middle and lines at spaces", "[report]") {
    CHECK(elide("abcdefghijklmnop", 10) == "abcde...op");
    CHECK(elide("short", 10) == "short");
    CHECK(display_width("\u00b5s") == 2);
    CHECK(wrap("one two three", 8, 2) == "one two\n  three");
    CHECK(wrap("  label text text", 12, 8) == "  label text\n        text");
}

TEST_CASE("the text of analyze: one screen, worst news first", "[report]") {
    TextStyle style;
    style.width = 110;
    const std::string expected =
        R"(transpose_naive(float*, float const*, int, int)                    A100-PCIE-40GB · 108 SMs · 1410 MHz · 250 W
transpose.cu:4 · sm_80 · 16 registers (ptxas 13.0) · no shared memory · 31 instructions, all known

Bound by L2 bandwidth. Costliest: the store touches 16 sectors a request where 4 would do, costs 182 µs.
Predicted 268 (241-300) µs at 16,16 (today's launch); this launch cannot take less than 86 µs (134 MB through
DRAM).

Kept 2 of 57 launchable configurations (3.5 %), best first                                       all 57: --all
                block  grid     time µs        power W        energy mJ      occupancy  bound by
          1  *  8,32   512,128  212 (191-237)  148 (139-157)  31.4 (28-36)       100 %  l2
          2     4,64   1024,64  219 (197-245)  143 (134-152)  31.3 (28-35)       100 %  l2
    current     16,16  256,256  268 (241-300)  151 (142-160)  40.5 (36-46)       100 %  l2
  heuristic     1024   4,4096   655 (590-734)  139 (131-147)  91.0 (80-103)      100 %  l2
Cannot launch: 1 of 58 candidates (1 too many registers)

Recommended for time: 8,32 (grid 512,128), safe.
  against    16,16 (today's launch): 21 % less time (17-25), 22 % less energy (18-26)
             1024 (the occupancy heuristic): 68 % less time (65-70), 66 % less energy (63-69)
  safe       the same 67,108,864 bytes, each written once, from the same bytes
  because    store sectors a request 16 -> 8     - 61 µs
             load sectors a request 2 -> 1 line  + 5 µs
  changes if param_1 1024 to 16384: 4,64 is best at 16384
  holds for  work 1024 to 16384: 8,32 stays best
  confidence medium: one assumption could change it

Memory at 16,16, costliest first
  at              op         bytes/lane  requests  lanes  sectors  ideal  pattern
  transpose.cu:9  st.global           4   524,288     32       16      4  strided 16384 B
  transpose.cu:9  ld.global           4   524,288     32        4      4  coalesced

Give these first: they are assumed, and could change the answer (--arg NAME=VALUE, --work, ...)
  param_1 = 4096  compared with the global index in x
Assumed too: pointers = distinct.

Findings
  FF101 transpose.cu:9: the store touches 16 sectors a request where 4 would do, costs 180 µs
)";
    CHECK(text_report(sample::analysis(), style) == expected);
}

TEST_CASE("colour only marks: without it the text is the same", "[report]") {
    TextStyle plain;
    TextStyle colored = plain;
    colored.color = true;
    std::string stripped = text_report(sample::analysis(), colored);
    CHECK(stripped.find("\x1b[") != std::string::npos);
    for (std::size_t at = 0; (at = stripped.find("\x1b[", at)) != std::string::npos;) { stripped.erase(at, stripped.find('m', at) - at + 1); }
    CHECK(stripped == text_report(sample::analysis(), plain));
}

TEST_CASE("doubt is always in the text", "[report]") {
    Analysis analysis = sample::analysis();
    KernelResult& result = analysis.kernels[0].results[0];
    SECTION("an unverified recommendation says so") {
        result.recommendation->safe.reset();
        CHECK(text_report(analysis, {}).find("unverified") != std::string::npos);
        CHECK(markdown_report(analysis).find("unverified") != std::string::npos);
    }
    SECTION("configurations of different safety get a column") {
        result.configs[1].safe = false;
        CHECK(text_report(analysis, {}).find("unsafe") != std::string::npos);
    }
    SECTION("no recommendation has a reason") {
        result.recommendation.reset();
        result.no_recommendation = "no launchable block is safe";
        CHECK(text_report(analysis, {}).find("Nothing is recommended: no launchable block is safe") != std::string::npos);
    }
    SECTION("unknown power is said once, with the reason") {
        for (ConfigResult& config : result.configs) {
            if (!config.predicted) { continue; }
            config.predicted->power.reset();
            config.predicted->power_unknown = "the board's idle power is not known";
        }
        const std::string text = text_report(analysis, {});
        CHECK(text.find("Power and energy are unknown: the board's idle power is not known") != std::string::npos);
        CHECK(text.find("energy mJ") == std::string::npos);
    }
    SECTION("a board without a fit is named as such") {
        result.configs[2].predicted->time.calibrated = false;
        CHECK(text_report(analysis, {}).find("Not calibrated for this board: time.") != std::string::npos);
    }
    SECTION("a named block that cannot launch stays in the table") {
        TextStyle style;
        style.named_blocks = true;
        CHECK(text_report(analysis, style).find("cannot launch: registers: 65,600 of 65,536") != std::string::npos);
    }
}

TEST_CASE("more than ten kernels are one sorted line each, with totals", "[report]") {
    Analysis analysis = sample::analysis();
    for (int i = 0; i < 10; ++i) {
        analysis.kernels.push_back(analysis.kernels[0]);
        Prediction& p = *analysis.kernels.back().results[0].configs[0].predicted;
        p = sample::prediction(100.0 * (i + 1), 148, "l2");
        analysis.kernels.back().facts.short_name = analysis.kernels.back().facts.demangled = "k" + std::to_string(i);
    }
    const std::string text = text_report(analysis, {});
    CHECK(text.starts_with("11 kernels on a100-pcie-40gb"));
    CHECK(text.find("k9 ") < text.find("k0 "));
    CHECK(text.find("transpose_naive  ") != std::string::npos);
    CHECK(text.find("total of one launch each: 5710 \u00b5s") != std::string::npos);
    CHECK(std::count(text.begin(), text.end(), '\n') == 14);
}

TEST_CASE("CSV: a row a configuration, empty where unknown, nothing a spreadsheet would run", "[report]") {
    Analysis analysis = sample::analysis();
    analysis.kernels[0].facts.name = "=cmd|\"x\",y";
    const std::string csv = csv_report(analysis);
    CHECK(std::count(csv.begin(), csv.end(), '\n') == 7);
    CHECK(csv.find("\n\"'=cmd|\"\"x\"\",y\",7c1e,") != std::string::npos);
    CHECK(csv.find("\"registers: 65,600 of 65,536\",,0,,,,,,,,,,,,,,false,false,false,,false,false,,\n") != std::string::npos);
}

TEST_CASE("inspect's text shows what to give", "[report]") {
    InspectReport report;
    InspectedModule module;
    module.name = "transpose.ptx";
    module.ptx_version = "9.0";
    module.target = "sm_80";
    module.bytes = 5100;
    module.instructions = 31;
    module.line_table = true;
    module.kernels = {sample::transpose()};
    InspectedInput input;
    input.path = "transpose.ptx";
    input.modules = {module};
    report.inputs = {input};
    report.summary = {1, 1, 1, 5100, 31, 0, 0, 0};
    const std::string expected =
        R"(transpose.ptx: PTX 9.0, sm_80, 64-bit, 5,100 B, 1 kernel, 31 instructions, all known, source lines known

transpose_naive(float*, float const*, int, int)  #7c1e
  transpose.cu:4 · 2-D · 16 registers (ptxas) · no shared memory
     parameter  type  kind     used as
  0  param_0    u64   pointer  address base (line 57)
  1  param_1    u32   scalar   guard of x (line 33), address stride (lines 40, 44)
  31 instructions (all known): int32 20
  0 loops; 2 memory instructions
)";
    const std::string text = text_report(report, {});
    CHECK(text == expected);
    report.summary.kernels = 0;
    report.inputs[0].modules[0].kernels.clear();
    CHECK(text_report(report, {}).find("No kernel") != std::string::npos);
}

TEST_CASE("a kernel's name in the room there is", "[report]") {
    KernelFacts facts;
    facts.name = "_ZN2ns1kIfLi2EEEvPfi";
    facts.demangled = "void ns::kernel<float, 2>(float*, int)";
    facts.short_name = "kernel<...>";
    CHECK(report::fitting_name(facts, 60) == facts.demangled);
    CHECK(report::fitting_name(facts, 30) == "ns::kernel<float, 2>");
    CHECK(report::fitting_name(facts, 15) == "kernel<...>");
    facts.demangled = "(anonymous namespace)::kernel(std::pair<int, int>)";
    CHECK(report::fitting_name(facts, 40) == "(anonymous namespace)::kernel");
}
