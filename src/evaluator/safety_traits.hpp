// Owns: what must be known of a whole kernel before its values' provenance is followed: which instructions cannot be, which
// variable an access is meant for, how finely memory must be kept. Input: a Program that keeps every instruction.
#pragma once

#include <string>
#include <vector>

#include "evaluator/program.hpp"

namespace flipflop::eval {

/// What the result of an operation that the interpreter has no meaning for derives from.
enum class Nature : std::uint8_t {
    function,       ///< the lane's own sources
    collective,     ///< the sources of all lanes of the warp, each in its place (matrix products)
    lost,
};

struct SafetyTraits {
    std::string refused;                     ///< not empty: nothing can be said of this kernel, and why
    std::vector<u32> symbol;                 ///< by MemoryOp: the variable (SymbolId) its address is made from, else kNone
    std::vector<std::vector<Nature>> nature; ///< by function and instruction
    bool cooperative{};                      ///< warps of a block exchange values or wait for each other
    bool entangled{};                        ///< sums of sums: bytes may count more or less often without an error
    bool collective{};
    unsigned shared_granule{8}, global_granule{8};   ///< bytes of the smallest element
    bool initialised{};                      ///< some array's contents may be known
};
[[nodiscard]] SafetyTraits traits_of(const Program& program);

/// "PTX line 12"
[[nodiscard]] std::string line_of(const Program& program, u32 function, u32 instruction);

}  // namespace flipflop::eval
