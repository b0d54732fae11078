#include "report/csv_row.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "flipflop/diagnostic.hpp"

namespace flipflop::report {

void CsvRow::separate() {
    if (!first_) { line_ += ','; }
    first_ = false;
}

CsvRow& CsvRow::text(std::string_view raw) {
    separate();
    const std::string content = harmless(raw);   // a path may hold what moves a terminal's cursor
    // A leading =, +, - or @ is a formula to a spreadsheet; names from an input must not become one.
    const bool formula = !content.empty() && std::string_view("=+-@").find(content.front()) != std::string_view::npos;
    if (!formula && content.find_first_of("\",") == std::string::npos) {
        line_ += content;
        return *this;
    }
    line_ += '"';
    if (formula) { line_ += '\''; }
    for (const char c : content) {
        if (c == '"') { line_ += '"'; }
        line_ += c;
    }
    line_ += '"';
    return *this;
}

CsvRow& CsvRow::number(const std::optional<double>& value) {
    separate();
    if (!value || !std::isfinite(*value)) { return *this; }
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), *value);
    line_.append(digits.data(), end.ptr);
    return *this;
}

}  // namespace flipflop::report
