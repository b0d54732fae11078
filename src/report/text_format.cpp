#include "report/text_format.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/core.h>

#include "ptx_parser/utf8.hpp"
#include "report/json_writer.hpp"

namespace flipflop::report {

std::size_t display_width(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

namespace {

/// GitHub's runner takes "::" at a line's start (after blanks) and "##[" anywhere for a command, on both streams.
void disarm_commands(std::string& text) {
    for (std::size_t at = text.find("##["); at != std::string::npos; at = text.find("##[", at)) { text.replace(at, 3, "# #["); }
    for (std::size_t at = text.find("::"); at != std::string::npos; at = text.find("::", at + 2)) {
        if (at == 0 || text[at - 1] == ' ') { text.insert(at++, "."); }
    }
    if (text.starts_with(':')) { text.insert(0, "."); }   // what follows may begin with the second one
}

}  // namespace

std::string printable(std::string_view text) {
    std::string out = valid_utf8(text);
    for (std::size_t i = 0; i < out.size(); ++i) {
        const auto c = static_cast<unsigned char>(out[i]);
        if (c < 0x20 || c == 0x7F) {
            out[i] = '?';
        } else if (c == 0xC2 && i + 1 < out.size() && static_cast<unsigned char>(out[i + 1]) < 0xA0) {
            out.replace(i, 2, "?");  // C1 controls: 0x9B is a terminal's CSI
        } else if (reorders(std::string_view(out).substr(i))) {
            out.replace(i, 3, "?");
        }
    }
    disarm_commands(out);
    return out;
}

std::string elide(std::string_view text, std::size_t width) {
    if (display_width(text) <= width || width < 8) { return std::string(text); }
    // By code points, so that no sequence is cut.
    std::vector<std::size_t> starts;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U) { starts.push_back(i); }
    }
    const std::size_t keep = width - 3;
    const std::size_t head = keep - keep / 3;
    const std::size_t tail = keep / 3;
    return std::string(text.substr(0, starts[head])) + "..." + std::string(text.substr(starts[starts.size() - tail]));
}

std::string wrap(std::string_view text, std::size_t width, std::size_t indent) {
    std::string out;
    std::size_t column = 0;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        const std::string_view word = text.substr(at, end - at);
        const std::size_t needed = display_width(word);
        if (column > indent && column + 1 + needed > width) {
            out += '\n';
            out.append(indent, ' ');
            column = indent;
        } else if (at > 0) {
            out += ' ';
            ++column;
        }
        out += word;
        column += needed;
        at = end + 1;
    }
    return out;
}

std::string significant(double value, int digits) {
    if (!std::isfinite(value)) { return "unknown"; }
    if (value == 0) { return "0"; }
    const double magnitude = std::floor(std::log10(std::abs(value)));
    if (magnitude < -4 || magnitude >= 15) { return fmt::format("{:.{}e}", value, digits - 1); }
    const double scale = std::pow(10.0, static_cast<double>(digits) - 1 - magnitude);
    const double rounded = std::round(value * scale) / scale;
    // 9.996 to three digits is 10.0: the magnitude is that of what is printed.
    const double shown = std::floor(std::log10(std::abs(rounded)));
    const int decimals = std::max(0, digits - 1 - static_cast<int>(shown));
    std::string text = fmt::format("{:.{}f}", rounded, decimals);
    if (decimals > 0) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.ends_with('.')) { text.pop_back(); }
    }
    return text;
}

std::string grouped(std::uint64_t value) {
    std::string text = std::to_string(value);
    for (std::size_t at = text.size(); at > 3; at -= 3) { text.insert(at - 3, ","); }
    return text;
}

std::string count_text(double count) {
    if (count < 999'999.5) { return count == std::floor(count) ? grouped(static_cast<std::uint64_t>(count)) : significant(count); }
    constexpr std::array<std::string_view, 4> units{" M", " G", " T", " P"};
    std::size_t unit = 0;
    double scaled = count / 1e6;
    while (scaled >= 999.5 && unit + 1 < units.size()) {
        scaled /= 1e3;
        ++unit;
    }
    return significant(scaled) + std::string(units[unit]);
}

std::string bytes_text(double bytes) {
    if (bytes < 10'000) { return grouped(static_cast<std::uint64_t>(std::llround(bytes))) + " B"; }
    constexpr std::array<std::string_view, 5> units{"kB", "MB", "GB", "TB", "PB"};
    std::size_t unit = 0;
    double scaled = bytes / 1e3;
    while (scaled >= 999.5 && unit + 1 < units.size()) {
        scaled /= 1e3;
        ++unit;
    }
    return fmt::format("{} {}", significant(scaled), units[unit]);
}

namespace {

/// Decimals with which a value of this size is printed when `digits` of it count.
int decimals_for(double value, int digits) {
    if (value == 0 || !std::isfinite(value)) { return 0; }
    return std::clamp(digits - 1 - static_cast<int>(std::floor(std::log10(std::abs(value)))), 0, 9);
}

double round_to(double value, int digits) {
    if (value == 0 || !std::isfinite(value)) { return value; }
    const double scale = std::pow(10.0, static_cast<double>(digits) - 1 - std::floor(std::log10(std::abs(value))));
    return std::round(value * scale) / scale;
}

}  // namespace

std::string with_interval(double value, double low, double high) {
    if (!std::isfinite(value)) { return "unknown"; }
    if (!(high > low) || value == 0) { return significant(value); }
    const double half = (high - low) / 2 / std::abs(value);
    // Three digits while the interval is a quarter of the value or less, two beyond; its ends no finer than the value.
    const bool narrow = half <= 0.25;
    const int digits = narrow ? 3 : 2;
    const int decimals = std::max(0, decimals_for(value, digits) - (half > 0.03 ? 1 : 0));
    const auto end_text = [&](double end) { return narrow ? fmt::format("{:.{}f}", round_to(end, digits), decimals) : significant(end, 2); };
    return fmt::format("{:.{}f} ({}-{})", round_to(value, digits), decimals_for(value, digits), end_text(low), end_text(high));
}

std::string change_text(double ratio, double low, double high, std::string_view what) {
    const auto points = [](double share) { return significant(std::abs(share) * 100, std::abs(share) < 0.0995 ? 1 : 2); };
    if (low == 1 && high == 1) { return fmt::format("the same {}", what); }
    if (low < 1 && high > 1) { return fmt::format("no clear difference in {} (-{} to +{} %)", what, points(1 - low), points(high - 1)); }
    // Percent says little beyond a factor of four.
    if (ratio < 0.25) { return fmt::format("{} times less {} ({}-{})", significant(1 / ratio, 2), what, significant(1 / high, 2), significant(1 / low, 2)); }
    if (ratio > 4) { return fmt::format("{} times more {} ({}-{})", significant(ratio, 2), what, significant(low, 2), significant(high, 2)); }
    if (high <= 1) { return fmt::format("{} % less {} ({}-{})", points(1 - ratio), what, points(1 - high), points(1 - low)); }
    return fmt::format("{} % more {} ({}-{})", points(ratio - 1), what, points(low - 1), points(high - 1));
}

std::string dim_text(const Dim3& dim) {
    if (dim.x == 0) { return "none"; }   // of a block that its rule gives no grid
    if (dim.z != 1) { return fmt::format("{},{},{}", dim.x, dim.y, dim.z); }
    if (dim.y != 1) { return fmt::format("{},{}", dim.x, dim.y); }
    return std::to_string(dim.x);
}

std::string percent(double share) { return significant(share * 100, 2 + (share >= 0.995)) + " %"; }

Unit time_unit_for(double largest_us) {
    if (largest_us >= 1e7) { return {1e-6, "s"}; }
    if (largest_us >= 1e4) { return {1e-3, "ms"}; }
    return {1, "\u00b5s"};
}

Unit energy_unit_for(double largest_mj) {
    if (largest_mj >= 1e7) { return {1e-6, "kJ"}; }
    if (largest_mj >= 1e4) { return {1e-3, "J"}; }
    return {1, "mJ"};
}

std::string time_text(double microseconds, int digits) {
    const Unit unit = time_unit_for(std::abs(microseconds));
    return fmt::format("{} {}", significant(microseconds * unit.scale, digits), unit.name);
}

std::string energy_text(double millijoules, int digits) {
    const Unit unit = energy_unit_for(std::abs(millijoules));
    return fmt::format("{} {}", significant(millijoules * unit.scale, digits), unit.name);
}

std::string time_with_interval(double microseconds, const Interval& interval) {
    const Unit unit = time_unit_for(microseconds);
    return fmt::format("{} {}", scaled_interval(unit, microseconds, interval), unit.name);
}

std::string energy_with_interval(double millijoules, const Interval& interval) {
    const Unit unit = energy_unit_for(millijoules);
    return fmt::format("{} {}", scaled_interval(unit, millijoules, interval), unit.name);
}

std::string scaled_interval(const Unit& unit, double value, const Interval& interval) {
    return with_interval(value * unit.scale, interval.low * unit.scale, interval.high * unit.scale);
}

std::string place_text(const std::optional<SourceLine>& source, std::uint32_t ptx_line) {
    if (source) {
        // The last path component says enough for a reader; the JSON has the whole path.
        const std::string_view file = source->file;
        return fmt::format("{}:{}", printable(file.substr(file.find_last_of("/\\") + 1)), source->line);
    }
    return ptx_line != 0 ? fmt::format("PTX line {}", ptx_line) : std::string("unknown place");
}

std::string registers_text(const Resources& resources, const std::map<std::string, std::optional<std::string>>& used) {
    switch (resources.registers_basis) {
        case RegistersBasis::ptxas: {
            const auto found = used.find("ptxas");
            const bool known = found != used.end() && found->second;
            return fmt::format("{} registers (ptxas{}{})", resources.registers_per_thread, known ? " " : "",
                               known ? printable(*found->second) : "");
        }
        case RegistersBasis::cubin: return fmt::format("{} registers (cubin)", resources.registers_per_thread);
        case RegistersBasis::estimate: break;
    }
    return fmt::format("about {} registers (estimate, {}-{})", resources.registers_per_thread, resources.registers_low,
                       resources.registers_high);
}

std::string bound_words(std::string_view bound_by) {
    struct Words { std::string_view id, words; };
    constexpr std::array<Words, 32> table{{
        {"dram", "DRAM bandwidth"},
        {"l2", "L2 bandwidth"},
        {"l1", "L1 throughput"},
        {"shared", "shared-memory wavefronts"},
        {"issue", "instruction issue"},
        {"latency", "latency that the resident warps cannot hide"},
        {"launch", "the launch itself"},
        {"fp32", "the fp32 pipe"},
        {"fp64", "the fp64 pipe"},
        {"fp16", "the fp16 pipe"},
        {"int32", "the integer pipe"},
        {"int", "the integer pipe"},
        {"alu", "the integer and logic pipe"},
        {"fma", "the fused multiply-add pipe"},
        {"fma_heavy", "the integer multiply pipe"},
        {"xu", "the special-function and conversion pipe"},
        {"sfu", "the special-function pipe"},
        {"conversion", "the conversion pipe"},
        {"tensor", "the tensor cores"},
        {"lsu", "load and store issue"},
        {"atomic", "atomics"},
        {"barrier", "waiting at barriers"},
        {"local", "local memory"},
        {"block_issue", "how fast blocks can be started"},
        {"int_mul", "integer multiplication"},
        {"imad", "integer multiplication"},
        {"half", "the fp16 pipe"},
        {"control", "branches"},
        {"uniform", "the uniform pipe"},
        {"shuffle", "shuffles"},
        {"texture", "the texture units"},
        {"branch", "branches"},
    }};
    const auto* const found = std::find_if(table.begin(), table.end(), [&](const Words& w) { return w.id == bound_by; });
    return found != table.end() ? std::string(found->words) : printable(bound_by);
}

std::string bound_cell(std::string_view bound_by) {
    std::string cell = printable(bound_by);
    std::replace(cell.begin(), cell.end(), '_', ' ');
    return cell;
}

std::string share_words(std::string_view id) {
    struct Words { std::string_view id, words; };
    constexpr std::array<Words, 16> table{{
        {"launch", "launch overhead"},
        {"chains", "waiting for latency"},
        {"start", "starting blocks"},
        {"block_issue", "issuing blocks"},
        {"block_issue.cycles", "issuing blocks"},
        {"dram", "DRAM"},
        {"l2", "L2"},
        {"l1", "L1"},
        {"shared", "shared memory"},
        {"atomic", "atomics"},
        {"idle", "idle board"},
        {"awake", "awake chip"},
        {"sms", "active SMs"},
        {"operations", "operations"},
        {"tensor", "tensor cores"},
        {"pipe.lsu", "loads and stores"},
    }};
    const auto* const found = std::find_if(table.begin(), table.end(), [&](const Words& w) { return w.id == id; });
    if (found != table.end()) { return std::string(found->words); }
    if (!id.starts_with("pipe.")) { return printable(id); }
    std::string words = bound_words(id.substr(5));
    return words.starts_with("the ") ? words.substr(4) : words;
}

std::string with_short_parameters(std::string_view text, const KernelFacts& facts) {
    // nvcc and clang name parameters KERNEL_param_N; the kernel's name is known to the reader.
    const std::string prefix = facts.name + "_param_";
    std::string out = printable(text);
    for (std::size_t at = 0; (at = out.find(prefix, at)) != std::string::npos; at += 6) { out.erase(at, facts.name.size() + 1); }
    return out;
}

std::string kernel_name(const KernelFacts& facts) { return printable(facts.demangled.empty() ? facts.name : facts.demangled); }

std::string brief_name(const KernelFacts& facts, std::size_t width) {
    return elide(facts.short_name.empty() ? kernel_name(facts) : printable(facts.short_name), width);
}

std::string fitting_name(const KernelFacts& facts, std::size_t width) {
    const std::string whole = kernel_name(facts);
    if (display_width(whole) <= width) { return whole; }
    // "void ns::k<float, 2>(float*, int)": from the last space outside of brackets to the parameters.
    std::size_t begin = 0, end = whole.size();
    int depth = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
        const char c = whole[i];
        if (depth == 0 && c == ' ') { begin = i + 1; }
        if (depth == 0 && c == '(' && i > begin && whole[i - 1] != ':') {
            end = i;
            break;
        }
        depth += (c == '(' || c == '<') - (c == ')' || c == '>');
    }
    const std::string bare = whole.substr(begin, end - begin);
    return !bare.empty() && display_width(bare) <= width ? bare : brief_name(facts, width);
}

std::string delta_text(const Reason& reason) {
    const auto sign = [](double value) { return value < 0 ? "- " : "+ "; };
    std::string text = reason.delta_us ? sign(*reason.delta_us) + time_text(std::abs(*reason.delta_us), 2) : "";
    if (reason.delta_mj) { text += (text.empty() ? "" : ", ") + (sign(*reason.delta_mj) + energy_text(std::abs(*reason.delta_mj), 2)); }
    return text;
}

std::string paint(std::string_view text, Mark mark, bool color) {
    if (!color || mark == Mark::plain) { return std::string(text); }
    constexpr std::array<std::string_view, 6> codes{"", "1", "2", "32", "31", "33"};
    return fmt::format("\x1b[{}m{}\x1b[0m", codes[static_cast<std::size_t>(mark)], text);
}

void Table::column(std::string header, Align align) {
    headers_.push_back(std::move(header));
    aligns_.push_back(align);
}

void Table::row(std::vector<std::string> cells, Mark mark) {
    cells.resize(headers_.size());
    rows_.push_back({std::move(cells), mark});
}

std::string Table::line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const {
    std::string out;
    bool first = true;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (widths[i] == 0) { continue; }
        const std::string padding(widths[i] - display_width(cells[i]), ' ');
        if (!first) { out += "  "; }
        first = false;
        out += aligns_[i] == Align::right ? padding + cells[i] : cells[i] + padding;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
}

std::string Table::text(std::size_t indent, bool color) const {
    std::vector<std::size_t> widths(headers_.size());
    bool any_header = false;
    for (std::size_t i = 0; i < headers_.size(); ++i) {
        any_header = any_header || !headers_[i].empty();
        for (const Row& row : rows_) { widths[i] = std::max(widths[i], display_width(row.cells[i])); }
        // A column in which no row says anything is left out, its header too.
        if (widths[i] > 0) { widths[i] = std::max(widths[i], display_width(headers_[i])); }
    }
    std::string out;
    const std::string margin(indent, ' ');
    if (any_header) { out += margin + paint(line(headers_, widths), Mark::dim, color) + "\n"; }
    for (const Row& row : rows_) { out += margin + paint(line(row.cells, widths), row.mark, color) + "\n"; }
    return out;
}

}  // namespace flipflop::report
