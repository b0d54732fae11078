// Owns: one warp being followed: call frames, registers and what they derive from, the lane rule of CONTRACT.md section 5.
// Input: a Program that keeps every instruction. Invariant: a lane takes only ways that known values decide; where a branch
// depends on data both ways are followed one after the other and what they leave behind is joined.
#pragma once

#include <bit>
#include <optional>

#include "evaluator/safety_block.hpp"

namespace flipflop::eval {

class WarpRun {
public:
    explicit WarpRun(BlockRun& block) : b_(block), s_(block.session()), p_(block.session().program) {}
    /// `index`: of the warp within what is run together.
    void start(const Place& place, const WarpGroup& group, u32 index);

    enum class Status : std::uint8_t { barrier, done, stopped };
    Status run();
    struct Waiting { u32 id{}, threads{}, op{}; };       ///< threads 0: all of the block
    [[nodiscard]] const Waiting& waiting() const { return waiting_; }
    [[nodiscard]] u32 function() const { return stack_.back()->function; }

private:
    /// What lies between a branch and the point where its ways meet.
    struct Ways { bool can_be_joined{}; std::vector<u32> written; };
    struct Frame {
        u32 function{};
        std::vector<Value> slots;
        ProvenanceFile from;
        std::vector<u32> pending;            ///< lanes by order of the block
        std::vector<u32> waiting;            ///< by loop: lanes that wait for the next iteration
        std::vector<bool> shaped_loops;      ///< how often they run follows from the launch
        u32 alive{}, entered{};
        u32 block{kNone}, op{}, mask{};
        u32 stop{kNone};                     ///< where a side of an undecided branch ends
        u32 call{kNone};
    };
    struct Decision { u32 yes{}, no{}, maybe{}; };

    [[nodiscard]] Frame& top() { return *stack_.back(); }
    [[nodiscard]] const FunctionProgram& fn(const Frame& f) const { return p_.functions[f.function]; }
    void push(u32 function, u32 mask);
    void finish();
    bool next_block(Frame& f);
    [[nodiscard]] u32 next_waiting(const Frame& f, u32 first) const;
    bool execute(Frame& f);                  ///< false: the frame changed or the warp waits
    void go(Frame& f, u32 from, u32 to, u32 mask);
    void leave(Frame& f, u32 mask, bool thread);
    [[nodiscard]] Decision decide(const Frame& f, u32 guard, bool negated, u32 mask) const;
    void branch(Frame& f, const MicroOp& op);
    void branch_index(Frame& f, const MicroOp& op);
    void undecided(Frame& f, const MicroOp& op, const Decision& d, u32 taken, u32 other);
    void follow_both(Frame& f, u32 guard, u32 lanes, u32 taken, u32 other);
    [[nodiscard]] const Ways& ways_of(const Frame& f, u32 block);
    /// Runs until the frame at this depth has no lanes left.
    void drain(std::size_t depth);
    void call(Frame& f, const MicroOp& op, u32 mask);
    bool barrier(Frame& f, const MicroOp& op, u32 mask);
    void check_members(Frame& f, const MicroOp& op, u32 mask);

    // safety_operate.cpp
    void operate_on(Frame& f, const MicroOp& op, u32 mask, u32 maybe);
    void plain(Frame& f, const MicroOp& op, u32 mask);
    void derive(Frame& f, const MicroOp& op, u32 mask, Provenance& p);
    void derive_select(Frame& f, const MicroOp& op, u32 mask, Provenance& p);
    void derive_shuffle(Frame& f, const MicroOp& op, u32 mask, Provenance& p);
    void derive_unknown(Frame& f, const MicroOp& op, u32 mask, Provenance& p);
    void add_constant(const Value& v, unsigned width, u64 salt, u32 mask, Provenance& p);
    [[nodiscard]] unsigned width_of(const Frame& f, u32 slot) const { return static_cast<unsigned>(std::bit_width(fn(f).slot_mask[slot])); }
    /// Known operands that another launch may have otherwise, of an operation on what comes from memory.
    void add_shaped(Frame& f, const MicroOp& op, unsigned sources, u32 mask, Provenance& p);
    void note_shape(Frame& f, const MicroOp& op, unsigned sources, bool derived);
    void add_all_lanes(Frame& f, u32 slot, u32 mask, Provenance& p);
    struct Saved { std::vector<Value> values; std::vector<Provenance> from; std::vector<bool> shaped; };
    [[nodiscard]] Saved save(const Frame& f, const std::vector<u32>& slots) const;
    void restore(Frame& f, const std::vector<u32>& slots, const Saved& saved);
    /// What those lanes hold is one or the other: what is there now, or what was saved; `why` decides.
    void join(Frame& f, const std::vector<u32>& slots, const Saved& other, const Provenance& why, u32 lanes);

    // safety_access.cpp
    struct Located { ptx::Space space{}; std::array<u64, kLanes> address{}; u32 known{}; };
    [[nodiscard]] Located locate(const Value& base, const MemoryOp& m, u32 mask);
    void memory(Frame& f, const MicroOp& op, u32 mask, u32 maybe);
    /// One execution of a memory operation, ready for its elements.
    struct Access {
        Located at;
        const Value* base{};
        MovedBy stride{};
        u32 op{};                            ///< memory operation
        u32 sure{}, maybe{};                 ///< lanes that do it, lanes that may
        bool shaped{};                       ///< a known value that was read follows from the launch
        Provenance why;                      ///< what decides whether they do
        [[nodiscard]] u32 lanes() const { return sure | maybe; }
    };
    void load(Frame& f, const MicroOp& op, const MemoryOp& m, Access& x);
    void load_global(const MemoryOp& m, const Access& x, u64 shift, Value& out, Provenance& p);
    void load_shared(const MemoryOp& m, Access& x, u64 shift, Value& out, Provenance& p);
    void load_local(const MemoryOp& m, Access& x, u64 shift, Value& out, Provenance& p);
    void load_constant(const MemoryOp& m, const Access& x, u64 shift, Value& out, Provenance& p);
    void store(Frame& f, const MicroOp& op, const MemoryOp& m, const Access& x);
    void store_shared(Frame& f, u32 slot, const MemoryOp& m, const Access& x, u64 shift);
    void store_local(Frame& f, u32 slot, const MemoryOp& m, const Access& x, u64 shift);
    void store_global(Frame& f, const MicroOp& op, u32 slot, const MemoryOp& m, const Access& x, u64 shift);
    void atomic(Frame& f, const MicroOp& op, const MemoryOp& m, const Access& x);

    // safety_matrix.cpp
    void matrix(Frame& f, const MicroOp& op, const MemoryOp& m, Access& x);
    void load_matrix(Frame& f, const MicroOp& op, const Access& x, bool transposed);
    void store_matrix(Frame& f, const MicroOp& op, const Access& x, bool transposed);
    [[nodiscard]] u64 element_place(const Access& x, unsigned which, unsigned lane, unsigned half, bool transposed) const;
    void fragment(Frame& f, const MicroOp& op, const MemoryOp& m, Access& x);
    [[nodiscard]] bool fragment_rows(const Frame& f, const MicroOp& op, const MemoryOp& m, Access& x);
    void load_fragment(Frame& f, const MicroOp& op, const MemoryOp& m, const Access& x);
    void store_fragment(Frame& f, const MicroOp& op, const MemoryOp& m, const Access& x);
    [[nodiscard]] std::vector<u32> results_of(const Frame& f, const MicroOp& op) const;

    // safety_store.cpp
    void copy_from(Frame& f, const MemoryOp& m, const Access& x);
    void copy_to(const MemoryOp& m, const Access& x);
    void hash_bytes(Provenance& p, const MovedBy& stride, const std::array<u64, kLanes>& address, u64 shift, unsigned bytes, u32 lanes);
    [[nodiscard]] const std::array<u64, kLanes>& powers_of(const std::array<u64, kLanes>& offsets);
    void sift_bytes(Provenance& p, const std::array<u64, kLanes>& address, u64 shift, unsigned bytes, u32 lanes);
    void add_junk(Provenance& p, unsigned lane, u64 address);
    /// False: an access outside its variable was found (and noted).
    bool in_bounds(const MicroOp& op, const MemoryOp& m, const Access& x);
    void note_span(const MemoryOp& m, const Access& x);
    [[nodiscard]] Element element(const Frame& f, u32 slot, unsigned lane) const;
    void isspacep(Frame& f, const MicroOp& op, u32 mask);
    [[nodiscard]] u32 thread(unsigned lane) const { return index_ * kLanes + lane; }
    [[nodiscard]] std::string line(const MicroOp& op) const { return line_of(p_, stack_.back()->function, op.instruction); }

    struct LocalCell { Value value; Provenance from; bool shaped{}; };

    BlockRun& b_;
    SafetySession& s_;
    const Program& p_;
    std::vector<std::unique_ptr<Frame>> stack_;
    Place place_{};
    WarpGroup group_{};
    u32 index_{}, exited_{}, uncertain_{};   ///< uncertain: depth of undecided branches
    Waiting waiting_{};
    using LocalMemory = std::map<std::pair<u64, unsigned>, LocalCell>;   ///< by place and bytes
    LocalMemory local_;
    std::map<std::pair<u32, u32>, Ways> ways_;           ///< by function and block
    std::vector<std::pair<u64, unsigned>> dirty_;        ///< local memory written under undecided branches
    struct Copied { std::array<u64, kLanes> address{}, bytes{}; MovedBy stride{}; u32 lanes{}; } copied_;   ///< by a first side
    Provenance guard_;                       ///< what the undecided branches around derive from
    std::vector<std::pair<std::array<u64, kLanes>, std::array<u64, kLanes>>> lane_powers_;   ///< by the lanes' offsets
};

}  // namespace flipflop::eval
