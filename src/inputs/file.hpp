// Owns: the bytes of one file, mapped or held. Invariant: view() stays valid as long as the object, moved or not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "flipflop/diagnostic.hpp"
#include "flipflop/inputs.hpp"

namespace flipflop {

class FileBytes {
public:
    /// "-" is standard input. An error is FF0801 (missing), FF0803 (unreadable) or FF0808 (too large).
    [[nodiscard]] static Result<FileBytes> open(const std::string& path, const InputLimits& limits);
    FileBytes(FileBytes&& other) noexcept;
    FileBytes& operator=(FileBytes&& other) noexcept;
    ~FileBytes();

    [[nodiscard]] std::string_view view() const { return mapped_ != nullptr ? std::string_view{mapped_, mapped_bytes_} : held_; }

    /// The bytes before `end` will hardly be looked at again: where the file is mapped, their pages are given back.
    void forget_before(std::size_t end) const;

private:
    FileBytes() = default;
    std::string held_;
    const char* mapped_{};
    std::size_t mapped_bytes_{};
};

/// An error diagnostic about a whole input.
[[nodiscard]] Diagnostic input_error(std::string id, const std::string& path, std::string message, std::string help = {});

}  // namespace flipflop
