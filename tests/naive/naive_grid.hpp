// Owns: the naive machine: a grid's threads, run one at a time, each to its next barrier or exchange with its warp. Input: a
// module, a launch. Output: what happens, told to a Listener. It shares nothing with src/evaluator but the parser.
#pragma once

#include <stdexcept>

#include "flipflop/launch.hpp"
#include "naive_machine.hpp"

namespace naive {

using flipflop::Dim3;
using flipflop::Launch;
using flipflop::ptx::Form;
using flipflop::ptx::Operand;
using flipflop::ptx::Space;
using flipflop::ptx::Special;
using flipflop::ptx::Symbol;
using flipflop::ptx::Type;

struct GiveUp : std::runtime_error { using std::runtime_error::runtime_error; };

/// One thread's access to memory.
struct Touch {
    Space space{};
    Value address;
    unsigned bytes{}, side{};
    bool reads{}, writes{}, atomic{};
};

/// Hears what the machine does.
class Listener {
public:
    virtual ~Listener() = default;
    virtual void begin_block(const Dim3&) {}
    /// `key`: the same for executions that the lanes of a warp do together.
    virtual void executed(const Thread&, std::uint64_t /*key*/, const Instruction&, const Form&, bool /*active*/) {}
    virtual void touched(const Thread&, std::uint64_t /*key*/, const Instruction&, const Touch&) {}
    /// Threads of a block (by linear index) passed a barrier together.
    virtual void met(const std::vector<std::uint32_t>&) {}
    /// Something no launch may do: a barrier that is missed, a lane in a member mask that is not there.
    virtual void fault(const Instruction&, const std::string&) {}
    virtual void end_block() {}
};

struct GridOptions {
    std::uint64_t max_steps{400'000'000};
    /// Contents of global memory, read and written; null: what the launch gives, read only.
    Bytes* global{};
    /// An operation without a meaning here gives bits made from its name and operands instead of an unknown.
    bool opaque{};
};

class Grid {
public:
    Grid(const Module& module, std::uint32_t entry, const Launch& launch, Listener& listener, const GridOptions& options);
    /// Throws GiveUp.
    void run();

private:
    // naive_grid.cpp
    void lay_out();
    void fill(const Symbol& symbol, std::uint64_t address);
    void start(std::vector<Thread>& threads);
    void run_block(const Dim3& block);
    bool step(Thread& thread);                       // false: the thread stopped
    void advance(Frame& frame, std::uint32_t to);
    void execute(Thread& thread, Frame& frame, const Instruction& instruction);
    void set_predicates(Frame& frame, const Form& form, std::span<const Operand> operands, const std::vector<Value>& sources);
    void wait_at_barrier(Thread& thread, Frame& frame, const Instruction& instruction);
    bool open_barriers(std::vector<Thread>& threads);
    void call(Thread& thread, Frame& frame, const Instruction& instruction);
    void do_return(Thread& thread);
    [[nodiscard]] Value read(const Thread& thread, const Frame& frame, const Operand& operand) const;
    [[nodiscard]] Value special(const Thread& thread, Special which) const;
    [[nodiscard]] Value address_of(const Frame& frame, const Operand& operand) const;
    [[nodiscard]] Value symbol_address(const Symbol& symbol, std::uint32_t id) const;
    void write(Frame& frame, const Operand& operand, Value value, Type type);
    [[nodiscard]] std::uint64_t key(const Frame& frame) const;
    [[nodiscard]] const Loops& loops_of(const Function& function);
    [[nodiscard]] const Instruction& at(const Thread& thread) const { return thread.frames.back().function->instructions[thread.frames.back().pc]; }

    // naive_memory.cpp
    void memory(Thread& thread, Frame& frame, const Instruction& instruction);
    void parameter(const Thread& thread, Frame& frame, const Form& form, const Operand& address, const std::vector<Operand>& values);
    void atomic(const Thread& thread, Frame& frame, const Form& form, Bytes* place, Value address, unsigned bytes, const std::vector<Operand>& values);
    void copy_async(Thread& thread, Frame& frame, const Instruction& instruction);
    [[nodiscard]] Space resolve(Space space, Value address) const;
    [[nodiscard]] Bytes* bytes_of(Thread& thread, Space space);

    // naive_exchange.cpp
    [[nodiscard]] static bool is_exchange(const Form& form);
    /// Exchanges of whole groups of lanes; `partial`: also of groups that will never be whole.
    bool exchange(std::vector<Thread>& threads, bool partial);
    void exchange_group(const std::vector<Thread*>& group);
    void shuffle(const std::vector<Thread*>& group, const Form& form);
    void matrix_access(const std::vector<Thread*>& group, const Form& form);
    [[nodiscard]] Value members_of(const Thread& thread) const;

    const Module& module_;
    const Function& entry_;
    const Launch& launch_;
    Listener& listener_;
    GridOptions options_;
    std::uint64_t steps_left_;
    std::vector<std::uint64_t> symbol_at_;
    std::map<const Function*, Loops> loops_;
    Bytes constants_, given_, shared_;
    Bytes* global_{};
    std::uint64_t shared_bytes_{};
    Dim3 ctaid_;
};

inline constexpr std::uint64_t kSharedWindow = 0x7e0000000000, kLocalWindow = 0x7d0000000000, kWindowBytes = 1ull << 32;
inline constexpr std::uint64_t kGlobalSymbols = 0x700000000000, kConstSymbols = 0x600000000000;

}  // namespace naive
