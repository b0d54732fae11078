// Owns: what a .section of DWARF holds as bytes. Input: the section's text, lists of .b8/.b16/.b32/.b64 (PTX ISA 11.5.4)
// with labels among them. Invariant: a reader never leaves the bytes; what lies behind them reads as 0 and `bad()`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace flipflop::ptx::detail {

struct DebugBytes {
    std::string bytes;
    std::map<std::uint64_t, std::string_view> symbols;      ///< by offset: what the linker would fill in; 0 in `bytes`
    std::map<std::string_view, std::uint64_t> labels;
};

[[nodiscard]] DebugBytes assemble_debug(std::string_view body);

/// Reads DWARF's numbers, little-endian.
class DebugReader {
public:
    explicit DebugReader(const DebugBytes& from) : from_(&from), end_(from.bytes.size()) {}

    [[nodiscard]] std::uint64_t at() const { return at_; }
    [[nodiscard]] bool bad() const { return bad_; }
    [[nodiscard]] bool done() const { return bad_ || at_ >= end_; }
    void seek(std::uint64_t offset) {
        bad_ |= offset > end_;
        at_ = bad_ ? end_ : offset;
    }
    void skip(std::uint64_t count) {
        bad_ |= count > end_ - at_;
        at_ = bad_ ? end_ : at_ + count;
    }
    std::uint64_t number(unsigned size);
    std::uint64_t uleb();
    std::string_view string();                              ///< up to its zero byte
    /// The symbol that stands for the number here, if one does.
    [[nodiscard]] std::string_view symbol() const {
        const auto found = from_->symbols.find(at_);
        return found == from_->symbols.end() ? std::string_view{} : found->second;
    }

private:
    const DebugBytes* from_;
    std::uint64_t at_{}, end_{};
    bool bad_{};
};

}  // namespace flipflop::ptx::detail
