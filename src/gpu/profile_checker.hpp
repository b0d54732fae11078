#pragma once
// A profile's JSON, checked while it is read: the first fault is kept, with its line and column.
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "flipflop/diagnostic.hpp"
#include "flipflop/gpu.hpp"
#include "gpu/json_position.hpp"
#include "gpu/vocabulary.hpp"

namespace flipflop::profile {

using Json = nlohmann::json;
using Values = std::map<std::string, SourcedValue, std::less<>>;

/// Keeps the first fault; everything after it is only finished, not reported.
class Checker {
public:
    Checker(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

    void fail(const std::string& pointer, const std::string& message, std::string help = {}) {
        if (error_) {
            return;
        }
        const auto offset = offset_of(text_, pointer);
        error_ = Diagnostic{"FF0902", Severity::error, file_, position_of(text_, offset),
                            (pointer.empty() ? std::string("the profile") : pointer) + ": " + message,
                            std::string(line_at(text_, offset).substr(0, 200)), std::move(help)};
    }
    [[nodiscard]] bool failed() const { return error_.has_value(); }
    [[nodiscard]] Diagnostic take() { return std::move(*error_); }

    std::optional<Json> parse();

    /// Text of a member; empty and a fault when it is missing (if required), not a string, or blank.
    std::string text(const Json& object, const std::string& at, const char* key, bool required);
    void only_keys(const Json& object, const std::string& at, const std::vector<std::string>& known);
    bool is_object(const Json& value, const std::string& at);

private:
    std::string_view text_;
    std::string file_;
    std::optional<Diagnostic> error_;
};

/// "basis" and "source" of an object; a basis that is none of the five is a fault.
void read_provenance(Checker& check, const Json& json, const std::string& at, std::string& basis, std::string& source);

/// {value, unit, basis, source[, interval][, note]}, in the unit and the range of its rule; a null value is not known.
SourcedValue read_value(Checker& check, const Json& json, const std::string& at, const Quantity& rule);

/// An object of values, each named in the table.
void read_values(Checker& check, const Json& json, const std::string& at, std::span<const Quantity> table, Values& out);

/// {x_unit: "MHz", unit, basis, source, points: [[MHz, value], ...]}, two points or more, clocks rising.
SourcedCurve read_curve(Checker& check, const Json& json, const std::string& at, const Quantity& rule);

}  // namespace flipflop::profile
