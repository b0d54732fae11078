// Owns: the pieces of the naive evaluator: a thread's state, the loops of a function, values that may be unknown.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flipflop/ptx.hpp"

namespace naive {

using flipflop::ptx::Function;
using flipflop::ptx::Instruction;
using flipflop::ptx::Module;
using Value = std::optional<std::uint64_t>;

/// Loops of one function at the level of single instructions, found with plain dominator sets.
struct Loops {
    struct Loop {
        std::uint32_t header{};
        std::vector<bool> holds;  ///< by instruction
        std::uint32_t size{};
    };
    std::vector<Loop> loops;                             ///< outermost (largest) first
    std::vector<std::vector<std::uint32_t>> around;      ///< by instruction: loops that hold it, outermost first
};
[[nodiscard]] Loops find_loops(const Module& module, const Function& function);

/// Bytes of memory, each known or not.
struct Bytes {
    std::map<std::uint64_t, std::optional<std::uint8_t>> cells;
    void store(std::uint64_t address, Value value, unsigned bytes);
    [[nodiscard]] Value load(std::uint64_t address, unsigned bytes) const;
};

struct Frame {
    const Function* function{};
    const Loops* loops{};
    std::uint32_t pc{};
    std::vector<Value> registers;
    std::vector<std::uint32_t> iteration;                ///< by loop
    std::map<std::uint32_t, Bytes> parameters;           ///< .param objects by SymbolId
    std::vector<std::uint32_t> path;                     ///< key of the call site, and of its callers
    std::vector<std::uint32_t> return_symbols;           ///< of the caller, to be filled on return
};

struct Thread {
    std::uint32_t tid[3]{};
    std::uint32_t linear{};
    std::vector<Frame> frames;
    Bytes local;
    enum class State : std::uint8_t { running, barrier, warp_wait, done } state{State::running};
    Value carry{0};
};

/// One integer or float operation on known values; nothing when the operation is not known to the naive evaluator.
[[nodiscard]] Value compute(const flipflop::ptx::Form& form, const std::vector<Value>& sources, Value& carry);
[[nodiscard]] std::optional<bool> compare(const flipflop::ptx::Form& form, flipflop::ptx::Type type, std::uint64_t a, std::uint64_t b);

}  // namespace naive
