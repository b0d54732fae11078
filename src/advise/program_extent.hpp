// Owns: how many elements a block covers by itself, where blocks are programs (Triton) and not threads side by side.
// Input: a kernel's code. Invariant: an extent that the index arithmetic does not show beyond doubt is unknown.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace flipflop {
struct KernelCode;
}

namespace flipflop::advise {

/// The assumption that stands where the extents are not known.
inline constexpr const char* kProgramsAssumption = "number of programs";

struct ProgramExtents {
    std::array<std::optional<std::uint64_t>, 3> axis;   ///< elements from one program to the next
    [[nodiscard]] bool known() const { return axis[0].has_value() || axis[1].has_value() || axis[2].has_value(); }
    /// On each of the first `dimensions` axes.
    [[nodiscard]] bool covers(int dimensions) const;
    [[nodiscard]] std::string words() const;             ///< "128 x 64"
};

/// Of each axis: the one constant by which everything multiplies %ctaid. None where it is used in another way too (divided,
/// compared, times a variable), where the constants differ, or where one axis of those in use has none.
[[nodiscard]] ProgramExtents program_extents(const KernelCode& code);

}  // namespace flipflop::advise
