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

struct FlowResult {
    std::vector<Slot> slots;        ///< in order of parameter and offset, with their uses
    std::uint8_t address_ids{};     ///< Dependence::ids of all addresses; 0 when no parameter is read
};

/// `callee` gives the slots of a function called, or null when not known.
[[nodiscard]] FlowResult parameter_flow(const KernelIr& ir, const std::function<const std::vector<Slot>*(const ptx::Function&)>& callee);

}  // namespace flipflop
