// Owns: the step from one PTX instruction to micro-operations. Input: a function of a parsed module. Invariant: slots are
// handed out per function; what has no micro-operation of its own becomes Op::unknown for each register it writes.
#pragma once

#include <map>
#include <vector>

#include "evaluator/program.hpp"

namespace flipflop::eval {

/// Hands out slots of one function.
class SlotTable {
public:
    u32 reg(ptx::RegId id, unsigned component = 0);
    u32 constant(u64 bits);
    u32 special(ptx::Special which);
    u32 piece(u32 symbol, i64 offset);       ///< of a parameter of a call or of this function
    u32 carry();
    u32 fresh() { return count_++; }
    [[nodiscard]] u32 count() const { return count_; }
    [[nodiscard]] bool is_fixed(u32 slot) const { return fixed_.contains(slot); }
    [[nodiscard]] const std::map<u64, u32>& constants() const { return constants_; }
    [[nodiscard]] const std::map<ptx::Special, u32>& specials() const { return specials_; }
    [[nodiscard]] const std::map<std::pair<u32, i64>, u32>& pieces() const { return pieces_; }

private:
    std::map<std::pair<u32, unsigned>, u32> regs_;
    std::map<u64, u32> constants_;
    std::map<ptx::Special, u32> specials_;
    std::map<std::pair<u32, i64>, u32> pieces_;
    std::map<u32, bool> fixed_;
    u32 carry_{kNone};
    u32 count_{};
};

/// An argument or result of a call: a parameter symbol of the caller, a slot, or nothing.
struct CallArgument { u32 symbol{kNone}, slot{kNone}; };
struct PendingCall {
    u32 callee{kNone};                       ///< index into Program::functions
    std::vector<CallArgument> arguments, results;
};

class Decoder {
public:
    Decoder(Program& program, u32 function, SlotTable& slots, std::vector<PendingCall>& calls);
    /// Appends the micro-operations of instruction `index`; control transfers are added by the caller. What computes a value
    /// has all its sources and a destination; an instruction that lacks one is unknown (decode_settle.cpp).
    void decode(u32 index, std::vector<MicroOp>& out);

private:
    struct Src { u32 slot{kNone}; bool negated{}; };
    void translate(u32 index, std::vector<MicroOp>& out);
    [[nodiscard]] Src source(const ptx::Operand& operand, ptx::Type type);
    [[nodiscard]] u32 destination(const ptx::Operand& operand);
    [[nodiscard]] unsigned reg_width(const ptx::Operand& operand) const;
    MicroOp& emit(Op op, ptx::Type type);
    void sources(MicroOp& op, std::size_t first, std::size_t count, ptx::Type type);
    void arithmetic();
    void unknown_results();
    void list_reads(MicroOp& op, u32 except);
    void move();
    void convert();
    void lop3();
    void packed();
    void compare();
    void exchange();
    void memory();
    void load_or_store(MicroOp& op, MemoryOp& m);
    void parameter_access();
    void call();
    bool simple(Op op, ptx::Type type);
    [[nodiscard]] std::pair<u32, i64> address(const ptx::Operand& operand);
    u32 add_list(const std::vector<u32>& slots);

    Program& program_;
    u32 function_index_;
    FunctionProgram& function_;
    const ptx::Module& module_;
    SlotTable& slots_;
    std::vector<PendingCall>& calls_;
    std::vector<MicroOp>* out_{};
    const ptx::Instruction* instruction_{};
    const ptx::Form* form_{};
    std::span<const ptx::Operand> operands_;
    u32 index_{};
};

[[nodiscard]] Kind kind_of(ptx::Type type);
[[nodiscard]] unsigned width_of(ptx::Type type);

}  // namespace flipflop::eval
