// Owns: one line of CSV (RFC 4180): quoting, empty cells for what is not known, nothing that a spreadsheet would run.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace flipflop::report {

class CsvRow {
public:
    CsvRow& text(std::string_view content);
    CsvRow& number(const std::optional<double>& value);
    CsvRow& truth(const std::optional<bool>& value) { return text(!value ? "" : *value ? "true" : "false"); }
    [[nodiscard]] std::string finish() && { return std::move(line_) + "\n"; }

private:
    void separate();
    std::string line_;
    bool first_{true};
};

}  // namespace flipflop::report
