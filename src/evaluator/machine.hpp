// Owns: one warp being run: its call frames, registers, scheduling, loop summaries. Input: a Program, the launch, the
// warp's place. Output: events in a Trace. Invariant: the lane rule of CONTRACT.md section 5; at every moment the run is
// valid for the whole Domain. Another value domain (provenance) watches through Observer.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evaluator/memory_state.hpp"
#include "evaluator/place.hpp"
#include "evaluator/trace.hpp"

namespace flipflop::eval {

/// Sees every operation just after it was carried out; for value domains beside the one of addresses.
class Machine;
class Observer {
public:
    virtual ~Observer() = default;
    virtual void operated(const Machine& machine, const MicroOp& op, u32 mask) = 0;
    virtual void accessed(const Machine& machine, const MicroOp& op, const MemoryOp& memory, const std::array<u64, kLanes>& address,
                          u32 known, u32 mask) = 0;
    virtual void at_barrier(const Machine&) {}
};

/// What one evaluation shares among its warps.
struct Session {
    const Program& program;
    const Launch& launch;
    LaunchMemory memory;
    ShapeTable shapes;
    Trace trace;
    SharedShadow shared;
    Domain domain;
    u64 runs{}, all_steps{};                 ///< boxes run; `steps` without what sampling takes back of it
    u64 steps{}, budget{};                   ///< micro-operations carried out, and how many may be
    std::vector<std::uint8_t> loop_doubt;    ///< by KernelFacts::loops: 0 none, 1 wait, 2 assumed, 3 unknown, 4 cut, 5 endless
    std::vector<double> loop_most;           ///< by KernelFacts::loops: most trips that --trips allows, 0 = not said
    std::vector<u32> loop_reason;            ///< by KernelFacts::loops: why no exit of it was decided (Value::reason), 0 = one was
    std::vector<u32> divergent, undecided;   ///< global instruction numbers of branches, 1 = seen; undecided 2: by the distance of two pointers
    std::vector<u32> last_shape;             ///< by memory operation
    std::vector<u32> skipped_calls;          ///< the same of calls: 1 nothing is known of the callee, 2 too deep
    std::vector<std::vector<Value>> pool;    ///< register files to use again
    u64 dynamic_touched{};
    Observer* observer{};
    bool cooperative{};                      ///< warps run in turn, barrier by barrier
    bool keep_records{true};
    bool summarise{true};                    ///< loops in closed form
    std::size_t record_limit{1u << 16};
    Session(const Program& p, const Launch& l);
};

class Machine {
public:
    explicit Machine(Session& session) : s_(session), p_(session.program) {}
    void start(const Place& place, const WarpGroup& group);
    /// Runs to the next barrier (when the session is cooperative) or to the end.
    enum class Status : std::uint8_t { barrier, done };
    Status run();
    [[nodiscard]] const Value& slot(u32 index) const { return top().slots[index]; }
    [[nodiscard]] u32 function() const { return top().function; }
    [[nodiscard]] u32 phase() const { return phase_; }

private:
    struct Snapshot { std::vector<Value> values; u32 mask{}; u32 phase{}; };
    struct LoopState {
        u32 inside{}, parked{};
        std::array<u64, kLanes> trips{};
        u32 visits{}, next_attempt{3}, failures{};
        std::vector<Snapshot> history;       ///< the last header visits, newest last
        bool open{};
        u32 period{}, left{};                ///< of an open summary: header visits an iteration of it, and still to come
        u32 frame{}, axis{}, phase{}, mask{};
        std::vector<Value> at_open;
        std::vector<i64> delta;
        bool endless{};                      ///< nothing in it ends it: its lanes are let go
        bool doubtful{};                     ///< its exit was not decided by known values
        std::vector<u32> open_exits;         ///< blocks whose exit was met undecided
    };
    /// Ways of undecided branches: two bits a branch. What a block reads must have been written under a subset of the
    /// ways that lead to it (`reads`); what it writes is marked with all of them (`writes`).
    struct Context { u64 reads{}, writes{}; };
    struct Region { u32 end{}, mask{}; Doubt doubt{}; float weight{1}; Context before; u64 ways{}; };
    struct Activation {
        u32 function{};
        std::vector<Value> slots;
        std::vector<u32> pending;            ///< lanes by order of the block
        std::vector<float> weights;          ///< by order, when a policy gives probabilities
        std::vector<Context> contexts;       ///< by order
        Context context;
        std::vector<u64> nonempty;
        std::vector<LoopState> loops;
        std::vector<u32> parked;
        std::vector<Region> regions;
        u32 alive{}, taint{}, entered{};     ///< entered: the lanes that called
        bool tainted_once{};
        std::vector<u32> tainted;            ///< slots that may hold something written under an undecided branch
        u32 block{kNone}, op{}, mask{};      ///< where it runs; kNone: choose the next
        float weight{1};
        u32 call{kNone};                     ///< the call operation in the caller that led here
    };

    [[nodiscard]] Activation& top() { return stack_.back(); }
    [[nodiscard]] const Activation& top() const { return stack_.back(); }
    [[nodiscard]] const FunctionProgram& fn(const Activation& a) const { return p_.functions[a.function]; }
    void push(u32 function, u32 mask);
    void set_special(Value& v, ptx::Special which);
    void post(Activation& a, u32 block, u32 mask, float weight);
    void join(Activation& a, u32 order, u32 already, u32 mask);
    bool next_block(Activation& a);
    bool execute(Activation& a);             ///< false: the activation changed or a barrier was met
    void finish();

    // control.cpp
    struct Decision { u32 yes{}, no{}, maybe{}; };
    [[nodiscard]] Decision decide(Activation& a, u32 guard, bool negated, u32 mask);
    /// `stays`: the lanes also go another way and have not left the loops they are in.
    void go(Activation& a, u32 from, u32 to, u32 mask, float weight, bool stays = false);
    void leave(Activation& a, u32 mask, bool thread);
    void branch(Activation& a, const MicroOp& op);
    void branch_index(Activation& a, const MicroOp& op);
    [[nodiscard]] static bool relies_on_another_exit(const LoopProgram& loop, LoopState& state, u32 block);
    void undecided(Activation& a, const MicroOp& op, const Decision& d, u32 taken, u32 other);
    void exit_loops(Activation& a, u32 from, u32 to, u32 mask);
    /// Returns the two bits of the ways that begin here, 0 when there are none left.
    u64 open_region(Activation& a, u32 end, u32 mask, Doubt doubt);
    void close_regions(Activation& a, u32 block);
    void end_loop(Activation& a, u32 loop, u32 from, u32 mask);
    void forget_variant(Activation& a, const LoopProgram& loop, u32 mask);
    [[nodiscard]] std::optional<double> taken_probability(const Activation& a, const MicroOp& op) const;
    [[nodiscard]] std::optional<BranchPolicy::Trips> trips_policy(const LoopProgram& loop) const;

    // summary.cpp
    void at_header(Activation& a, u32 loop, u32 mask);
    bool try_open(Activation& a, u32 loop, u32 mask, u32 period);
    void close(Activation& a, u32 loop, bool proved);
    [[nodiscard]] bool verify(Activation& a, u32 loop, u32 mask);

    // access.cpp
    void memory(Activation& a, const MicroOp& op, u32 mask, u32 maybe);
    struct Located { ptx::Space space{}; std::array<u64, kLanes> address{}; u32 known{}; };
    [[nodiscard]] Located locate(const Value& base, const MemoryOp& m, u32 mask, bool& crosses);
    void record(Activation& a, const MicroOp& op, const MemoryOp& m, const Located& at, const Value* base, u32 mask, u32 maybe);
    void load(Activation& a, const MicroOp& op, const MemoryOp& m, const Located& at, const Value& base, u32 mask);
    void store(Activation& a, const MicroOp& op, const MemoryOp& m, const Located& at, const Value& base, u32 mask);
    void isspacep(Activation& a, const MicroOp& op, u32 mask);

    /// False when what is called is not followed: its results are unknown then.
    bool enter_call(Activation& a, const MicroOp& op, u32 mask);
    /// How much of a warp executes an instruction whose guard is known for some lanes only.
    [[nodiscard]] double share_of_warp(u32 mask, u32 maybe) const;
    void count(Activation& a, u32 unit, u32 mask, u32 maybe);
    void settle_taint(Activation& a, const MicroOp& op, u32 mask);
    void mark_taint(Activation& a, const MicroOp& op, u32 mask, u32 maybe);
    [[nodiscard]] u32 reason_of(const Activation& a, const MicroOp& op) const { return 1 + fn(a).first_instruction + op.instruction; }
    [[nodiscard]] Doubt doubt_of(const Activation& a, u32 mask) const;

    Session& s_;
    const Program& p_;
    std::vector<Activation> stack_;
    Place place_{};
    WarpGroup group_{};
    u32 phase_{}, exited_{};
    std::optional<double> guess_;            ///< of the present instruction: how likely a lane is whose guard is not known
    std::vector<u32> occurrences_;           ///< by memory operation
    LocalShadow local_;
};

}  // namespace flipflop::eval
