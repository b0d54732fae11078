// Owns: where the parameters of one function go. A register carries, for each parameter read ("slot"), how it depends on
// it: as a value, times a constant, or times a variable; and which ids of the launch it is linear in.
// Input: a function's IR. Invariant: linear in code times the number of sweeps to the fixed point (masks only grow).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "flipflop/passes.hpp"

namespace flipflop {

/// A piece of a parameter that the code reads.
struct Slot {
    std::uint32_t parameter{};      ///< index within the function's parameters
    std::uint32_t offset{};
    ptx::Type type{ptx::Type::none};
    bool is_pointer{};
    int guard_axis{-1};
    std::vector<ParameterUse> uses;

    void add_use(const char* what, std::uint32_t line);
};

/// How a value depends on the slots of one chunk (bit s = slot s) and on the launch's ids.
struct Dependence {
    std::uint64_t value{};          ///< the parameter itself, perhaps plus something
    std::uint64_t scaled{};         ///< times or over a constant
    std::uint64_t product{};        ///< times a variable, or added once an iteration
    std::uint8_t ids{};             ///< bits 0-2: %tid x y z, bits 3-5: %ctaid x y z, bit 6: a row, column or digit of those
    [[nodiscard]] std::uint64_t any() const { return value | scaled | product; }
};

/// Slots of the function's parameters in order of parameter and offset, with their uses. `callee` gives the slots of a
/// function called, or null when not known.
[[nodiscard]] std::vector<Slot> parameter_slots(const KernelIr& ir,
                                                const std::function<const std::vector<Slot>*(const ptx::Function&)>& callee);

}  // namespace flipflop
