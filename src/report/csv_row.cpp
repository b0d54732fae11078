#include "report/csv_row.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "report/json_writer.hpp"

namespace flipflop::report {

void CsvRow::separate() {
    if (!first_) { line_ += ','; }
    first_ = false;
}

CsvRow& CsvRow::text(std::string_view content) {
    separate();
    // A leading =, +, - or @ is a formula to a spreadsheet; names from an input must not become one.
    const bool formula = !content.empty() && std::string_view("=+-@").find(content.front()) != std::string_view::npos;
    if (!formula && content.find_first_of("\",\r\n") == std::string_view::npos) {
        line_ += valid_utf8(content);
        return *this;
    }
    line_ += '"';
    if (formula) { line_ += '\''; }
    for (const char c : valid_utf8(content)) {
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
