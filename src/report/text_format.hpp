// Owns: how numbers, names and tables look as text. Rounds, aligns and marks; decides nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flipflop/analysis.hpp"
#include "flipflop/report.hpp"

namespace flipflop::report {

/// Columns a terminal needs for UTF-8 text (one a code point; our texts hold no wide or combining characters).
[[nodiscard]] std::size_t display_width(std::string_view text);

/// Text from an input made safe for a terminal and for a CI's log: control characters and marks that reorder text become '?',
/// broken UTF-8 U+FFFD, and what GitHub's runner would take for a command is taken apart.
[[nodiscard]] std::string printable(std::string_view text);

/// At most `width` columns; what is cut from the middle is shown as "...".
[[nodiscard]] std::string elide(std::string_view text, std::size_t width);

/// Breaks at spaces; every line after the first starts with `indent` spaces.
[[nodiscard]] std::string wrap(std::string_view text, std::size_t width, std::size_t indent);

/// `digits` significant digits, no exponent between 1e-4 and 1e15, no trailing zeros after the point: 212, 31.4, 0.75.
[[nodiscard]] std::string significant(double value, int digits = 3);
/// 67108864 -> "67,108,864".
[[nodiscard]] std::string grouped(std::uint64_t value);
/// "524,288" below a million, "16.8 M" above.
[[nodiscard]] std::string count_text(double count);
/// "134 MB", "5.1 kB" (powers of ten, as bandwidths are); exact below 10,000 bytes.
[[nodiscard]] std::string bytes_text(double bytes);
/// "212 (190-236)": as many digits as the interval justifies, three at most.
[[nodiscard]] std::string with_interval(double value, double low, double high);
/// "21 % less time (17-25)", "8 % more time (2-14)", "no clear difference in time (-3 to +4 %)", "8.3 times
/// less time (7-10)" for a ratio and its interval.
[[nodiscard]] std::string change_text(double ratio, double low, double high, std::string_view what);
/// "16,16" or "8,8,4": trailing ones left out; "256".
[[nodiscard]] std::string dim_text(const Dim3& dim);
[[nodiscard]] std::string percent(double share);

/// A scale for a column of times or energies: all of them in one unit.
struct Unit {
    double scale{1};
    std::string_view name;
};
[[nodiscard]] Unit time_unit_for(double largest_us);      ///< of microseconds: µs, ms, s
[[nodiscard]] Unit energy_unit_for(double largest_mj);    ///< of millijoules: mJ, J, kJ
/// "212 µs", "3.4 ms"; "31 mJ", "1.3 kJ".
[[nodiscard]] std::string time_text(double microseconds, int digits = 3);
[[nodiscard]] std::string energy_text(double millijoules, int digits = 3);
/// "212 (190-236) µs", "23 (14-36) J": each in the unit that suits it.
[[nodiscard]] std::string time_with_interval(double microseconds, const Interval& interval);
[[nodiscard]] std::string energy_with_interval(double millijoules, const Interval& interval);
/// with_interval in a unit of the column.
[[nodiscard]] std::string scaled_interval(const Unit& unit, double value, const Interval& interval);

/// "transpose.cu:9", else "line 57" of the PTX.
[[nodiscard]] std::string place_text(const std::optional<SourceLine>& source, std::uint32_t ptx_line);
/// "ptxas 13.0.88", "cubin", "estimate 14-18".
[[nodiscard]] std::string registers_text(const Resources& resources, const std::map<std::string, std::optional<std::string>>& used);
/// What binds a launch, in words: "dram" -> "DRAM bandwidth".
[[nodiscard]] std::string bound_words(std::string_view bound_by);
/// The same for a cell of a table: the id with blanks ("block issue").
[[nodiscard]] std::string bound_cell(std::string_view bound_by);
/// A part of the time or the energy (flipflop/charts.hpp), in words: "pipe.fp32" -> "fp32 pipe", "chains" -> "waiting for latency".
[[nodiscard]] std::string share_words(std::string_view id);
/// "param_2" for "KERNEL_param_2" wherever it stands in `text`; printable.
[[nodiscard]] std::string with_short_parameters(std::string_view text, const KernelFacts& facts);
/// The demangled name where there is one.
[[nodiscard]] std::string kernel_name(const KernelFacts& facts);

/// For one line a kernel: "ns::scale<...>", without types and parameters; its id tells instances apart.
[[nodiscard]] std::string brief_name(const KernelFacts& facts, std::size_t width);
/// As much of the name as fits: with return type and parameters, without them, else brief.
[[nodiscard]] std::string fitting_name(const KernelFacts& facts, std::size_t width);

/// "- 61 µs, - 32 mJ".
[[nodiscard]] std::string delta_text(const Reason& reason);

enum class Mark : std::uint8_t { plain, strong, dim, good, bad, warning };
[[nodiscard]] std::string paint(std::string_view text, Mark mark, bool color);

/// Rows of cells, columns as wide as their widest cell. Numbers are aligned to the right.
class Table {
public:
    enum class Align : std::uint8_t { left, right };
    void column(std::string header, Align align = Align::left);
    void row(std::vector<std::string> cells, Mark mark = Mark::plain);
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    /// Each line indented; no trailing blanks. A table without headers prints no header line.
    [[nodiscard]] std::string text(std::size_t indent, bool color) const;

private:
    struct Row { std::vector<std::string> cells; Mark mark; };
    [[nodiscard]] std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const;
    std::vector<std::string> headers_;
    std::vector<Align> aligns_;
    std::vector<Row> rows_;
};

}  // namespace flipflop::report
