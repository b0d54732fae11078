// Owns: the pieces of the naive evaluator: a thread's state, the loops of a function, values that may be unknown.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
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

/// Bytes of memory, each known or not, in pages.
class Bytes {
public:
    void store(std::uint64_t address, Value value, unsigned bytes);
    [[nodiscard]] Value load(std::uint64_t address, unsigned bytes) const;
    void clear() { pages_.clear(); }

private:
    static constexpr std::uint64_t kPage = 256;
    struct Page { std::array<std::uint8_t, kPage> data{}; std::array<bool, kPage> known{}; };
    std::unordered_map<std::uint64_t, Page> pages_;      ///< looked up only
};

struct Frame {
    const Function* function{};
    const Loops* loops{};
    std::uint32_t pc{};
    std::vector<Value> registers;
    std::vector<std::uint32_t> iteration;                ///< by loop
    std::map<std::uint32_t, Bytes> parameters;           ///< .param objects by SymbolId
    std::uint64_t path{};                                ///< key of the call site, and of its callers
    std::vector<std::uint32_t> return_symbols;           ///< of the caller, to be filled on return
};

struct Thread {
    std::uint32_t tid[3]{};
    std::uint32_t linear{};
    std::uint64_t number{};                              ///< in the grid
    std::vector<Frame> frames;
    Bytes local;
    enum class State : std::uint8_t { running, barrier, exchange, done } state{State::running};
    std::uint64_t barrier_id{}, barrier_threads{};       ///< waited for; 0 threads: the whole block
    Value carry{0};
    [[nodiscard]] unsigned warp() const { return linear / 32; }
    [[nodiscard]] unsigned lane() const { return linear % 32; }
};

/// One integer or float operation on known values; nothing when the operation is not known to the naive evaluator.
[[nodiscard]] Value compute(const flipflop::ptx::Form& form, const std::vector<Value>& sources, Value& carry);
[[nodiscard]] std::optional<bool> compare(const flipflop::ptx::Form& form, flipflop::ptx::Type type, std::uint64_t a, std::uint64_t b);
/// What an atomic operation leaves in memory (PTX ISA 9.7.13.5); nothing for one that is not known here.
[[nodiscard]] Value combine(const flipflop::ptx::Form& form, std::uint64_t old, std::uint64_t b, Value c);

[[nodiscard]] inline std::uint64_t mixed(std::uint64_t h, std::uint64_t more) {
    h ^= more + 0x9e3779b97f4a7c15 + (h << 6) + (h >> 2);
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9;
    h = (h ^ (h >> 27)) * 0x94d049bb133111eb;
    return h ^ (h >> 31);
}

}  // namespace naive
