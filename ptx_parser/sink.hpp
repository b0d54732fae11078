// Owns: the diagnostics of one parse. Keeps the first `max`, counts all. Invariant: a kept Diagnostic is complete.
#pragma once

#include <string>
#include <string_view>

#include "flipflop/ptx.hpp"

namespace flipflop::ptx::detail {

enum class Code : std::uint16_t {
#define FLIPFLOP_DIAGNOSTIC(number, identifier, severity, title) identifier = number,
#include "diagnostics.def"
#undef FLIPFLOP_DIAGNOSTIC
};

/// Where something is: a pointer into the text and its line. A null pointer is the file as a whole.
struct Position {
    const char* at{};
    std::uint32_t line{};
};

class Sink {
public:
    Sink(std::string_view text, std::string file, const ParseOptions& options, ParseResult& result)
        : text_(text), file_(std::move(file)), max_(options.max_diagnostics), result_(result) {}
    void add(Code code, Position position, std::string message, std::string help = {});
    [[nodiscard]] bool keeps() const { return result_.diagnostics.size() < max_; }

private:
    void show_line(Diagnostic& diagnostic, const char* at) const;

    std::string_view text_;
    std::string file_;
    std::uint32_t max_;
    ParseResult& result_;
};

}  // namespace flipflop::ptx::detail
