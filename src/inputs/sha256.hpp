// Owns: SHA-256 without the processor's own instructions, so that a test can hold the two against each other.
#pragma once

#include <string>
#include <string_view>

namespace flipflop {

[[nodiscard]] std::string sha256_portable(std::string_view bytes);

}  // namespace flipflop
