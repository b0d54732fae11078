// Owns: as what a kernel reads the array behind a pointer, to tell whether a file can be that array.
#pragma once

#include <cstdint>
#include <string>

#include "advise/array_data.hpp"

namespace flipflop {
struct KernelCode;
}

namespace flipflop::advise {

/// Why the contents of `data` are not what the kernel reads through parameter `index`, or empty: numbers with a point where
/// all its loads are whole ones (or the other way round), or elements wider than any load. Loads in called functions are not seen.
[[nodiscard]] std::string data_misfit(const KernelCode& code, std::uint32_t index, const DataRequest& data);

}  // namespace flipflop::advise
