#include "passes/value_flow.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "ir/accessed.hpp"

namespace flipflop {
namespace {

using ptx::Form;
using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using ptx::OperandKind;
using ptx::Space;

constexpr std::uint8_t kPartOfIndex = 64;

std::uint32_t index_of(ptx::RegId r) { return static_cast<std::uint32_t>(r); }

/// Which parameter byte a ld.param reads.
struct ParameterPlace { std::uint32_t parameter, offset; };

class ParameterAddresses {
public:
    explicit ParameterAddresses(const KernelIr& ir) : ir_(ir) {}

    [[nodiscard]] std::optional<ParameterPlace> place(const Operand& address) const {
        if (address.kind == OperandKind::address_symbol) return of_symbol(address, address.value);
        if (address.kind != OperandKind::address_reg) return std::nullopt;
        // The address of a parameter, taken by mov and moved on by constants (structs indexed at run time).
        std::int64_t offset = address.value;
        ptx::RegId reg = address.reg();
        for (int steps = 0; steps < 16; ++steps) {
            const auto definitions = ir_.definitions_of(reg);
            if (definitions.size() != 1) return std::nullopt;
            const Instruction& i = ir_.function->instructions[definitions[0]];
            const auto operands = ir_.module->operands_of(i);
            const Opcode opcode = ir_.module->form(i).opcode;
            if (operands.size() < 2) return std::nullopt;
            if ((opcode == Opcode::mov || opcode == Opcode::cvta) && operands[1].kind == OperandKind::symbol)
                return of_symbol(operands[1], offset + operands[1].value);
            if (operands[1].kind != OperandKind::reg) return std::nullopt;
            if (opcode == Opcode::add_ && operands.size() > 2 && operands[2].kind == OperandKind::immediate) offset += operands[2].value;
            else if (opcode != Opcode::mov && opcode != Opcode::cvta) return std::nullopt;
            reg = operands[1].reg();
        }
        return std::nullopt;
    }

private:
    [[nodiscard]] std::optional<ParameterPlace> of_symbol(const Operand& operand, std::int64_t offset) const {
        if (operand.symbol() == ptx::SymbolId::none || offset < 0 || offset > UINT32_MAX) return std::nullopt;
        const auto& parameters = ir_.function->parameters;
        const std::uint32_t position = ir_.module->symbol(operand.symbol()).index;
        if (position >= parameters.size() || parameters[position] != operand.symbol()) return std::nullopt;   // a variable of a call, a return value
        return ParameterPlace{position, static_cast<std::uint32_t>(offset)};
    }

    const KernelIr& ir_;
};

/// The instructions of a function that matter to where parameters go, found in one pass over its code. Every sweep looks at
/// these alone: most of a kernel is nothing to it.
struct FlowSteps {
    enum class Kind : std::uint8_t { load, argument, value };
    struct Step {
        std::uint32_t instruction{};
        Kind kind{};
        std::uint32_t first{}, count{};                 // Kind::load: its slots are slots[first, +count)
    };
    std::vector<Step> steps;                            // in text order: reads of parameters, st.param, what passes values on
    std::vector<std::uint32_t> ends;                    // instructions that use a value up: memory, comparisons, calls, ...
    std::vector<std::uint32_t> slots;
};

/// Does a parameter in its operands make this instruction a use?
bool is_end(const Form& form) {
    switch (form.opcode) {
    case Opcode::setp: case Opcode::set: case Opcode::call: case Opcode::shl: case Opcode::shr: case Opcode::div_: case Opcode::rem_: case Opcode::cvta:
        return true;
    default: return (form.reads_memory || form.writes_memory) && form.space != Space::param;
    }
}

/// Of what memory and comparisons give, nothing is known.
bool passes_values_on(const Form& form) {
    return !form.reads_memory && form.opcode != Opcode::setp && form.opcode != Opcode::set && form.opcode != Opcode::call;
}

class Flow {
public:
    Flow(const KernelIr& ir, std::vector<Slot>& slots, std::uint32_t first,
         const FlowSteps& steps, const std::function<const std::vector<Slot>*(const ptx::Function&)>& callee)
        : ir_(ir), module_(*ir.module), slots_(slots), first_(first), steps_(steps), callee_(callee),
          registers_(ir.function->registers.size()), flags_(ir.function->registers.size()) {}

    /// Records uses in the slots; the launch's ids that addresses depend on.
    std::uint8_t run() {
        find_loop_comparisons();
        // Another sweep only where a register changed after it had been read: in loops.
        do {
            changed_ = false;
            for (std::uint8_t& f : flags_) f &= static_cast<std::uint8_t>(~kRead);
            sweep();
        } while (changed_ && ++sweeps_ < 8);
        for (const std::uint32_t i : steps_.ends) record(i);
        settle_pointers();
        return address_ids_;
    }

private:
    [[nodiscard]] Dependence of(const Operand& operand) const {
        if (operand.kind == OperandKind::reg || operand.kind == OperandKind::address_reg) {
            flags_[operand.index] |= kRead;
            return registers_[operand.index];
        }
        if (operand.kind == OperandKind::special) {
            const auto s = static_cast<int>(operand.index);
            if (s <= static_cast<int>(ptx::Special::tid_z)) return {0, 0, 0, static_cast<std::uint8_t>(1U << s)};
            if (s >= static_cast<int>(ptx::Special::ctaid_x) && s <= static_cast<int>(ptx::Special::ctaid_z))
                return {0, 0, 0, static_cast<std::uint8_t>(8U << (s - static_cast<int>(ptx::Special::ctaid_x)))};
        }
        return {};
    }

    static Dependence join(Dependence a, const Dependence& b) {
        a.value |= b.value;
        a.scaled |= b.scaled;
        a.product |= b.product;
        a.ids |= b.ids;
        return a;
    }
    static Dependence times_constant(Dependence a) {
        a.scaled |= a.value;
        a.value = 0;
        return a;
    }
    static Dependence times_variable(Dependence a) {
        a.product |= a.value | a.scaled;
        a.value = a.scaled = 0;
        return a;
    }

    void grow(ptx::RegId reg, const Dependence& more) {
        Dependence& d = registers_[index_of(reg)];
        const Dependence joined = join(d, more);
        if (joined.value == d.value && joined.scaled == d.scaled && joined.product == d.product && joined.ids == d.ids) return;
        d = joined;
        std::uint8_t& flags = flags_[index_of(reg)];
        changed_ |= (flags & kRead) != 0;
        flags |= kDepends;
    }

    [[nodiscard]] static bool is_constant(const Operand& o) { return o.kind != OperandKind::reg && o.kind != OperandKind::special; }
    /// Does the register change while a loop runs (more than one definition: a phi of the compiler)?
    [[nodiscard]] bool is_carried(const Operand& o, const Operand& result) const {
        return in_loop_ && o.kind == OperandKind::reg && (o.index == result.index || ir_.definitions_of(o.reg()).size() > 1);
    }

    [[nodiscard]] Dependence product_of(const Operand& a, const Operand& b) const {
        if (is_constant(a)) return times_constant(of(b));
        if (is_constant(b)) return times_constant(of(a));
        return join(times_variable(of(a)), times_variable(of(b)));
    }

    [[nodiscard]] Dependence sum_of(const Operand& result, const Operand& a, const Operand& b) const {
        const bool a_carried = is_carried(a, result), b_carried = is_carried(b, result);
        // "i += n" once an iteration is a stride of n, whatever i was.
        const Dependence left = b_carried && !a_carried ? times_variable(of(a)) : of(a);
        const Dependence right = a_carried && !b_carried ? times_variable(of(b)) : of(b);
        return join(left, right);
    }

    [[nodiscard]] Dependence result_of(const Form& form, std::span<const Operand> o) const {
        Dependence d;
        switch (form.opcode) {
        case Opcode::add_: case Opcode::sub_: case Opcode::addc: case Opcode::subc:
            return o.size() > 2 ? sum_of(o[0], o[1], o[2]) : d;
        case Opcode::mul_: case Opcode::mul24: return o.size() > 2 ? product_of(o[1], o[2]) : d;
        case Opcode::mad: case Opcode::mad24: case Opcode::madc: case Opcode::fma_:
            return o.size() > 3 ? join(product_of(o[1], o[2]), of(o[3])) : d;
        case Opcode::shl: return o.size() > 2 ? product_of(o[1], o[2]) : d;
        case Opcode::shr: case Opcode::div_: case Opcode::rem_: case Opcode::bfe:
            if (o.size() < 3) return d;
            d = times_constant(of(o[1]));
            if (!is_constant(o[2])) d = join(times_variable(d), times_variable(of(o[2])));
            d.ids = (d.ids | of(o[2]).ids) != 0 ? kPartOfIndex : 0;   // a row or column of an index has another extent than it
            return d;
        case Opcode::selp: return o.size() > 2 ? join(of(o[1]), of(o[2])) : d;
        case Opcode::setp: case Opcode::set: case Opcode::call: return d;
        default:
            if (form.reads_memory) return d;
            for (std::size_t k = 1; k < o.size(); ++k) d = join(d, of(o[k]));
            return d;
        }
    }

    /// Most of a kernel is arithmetic on what no parameter and no id of the launch is part of: told by a byte a register.
    [[nodiscard]] bool may_depend(std::span<const Operand> operands) const {
        bool found = false;
        for (std::size_t k = 1; k < operands.size(); ++k) {
            switch (operands[k].kind) {
            case OperandKind::reg: case OperandKind::address_reg:
                flags_[operands[k].index] |= kRead;
                found |= (flags_[operands[k].index] & kDepends) != 0;
                break;
            case OperandKind::special: case OperandKind::vector: case OperandKind::list: found = true; break;
            default: break;
            }
        }
        return found;
    }

    void sweep() {
        const auto& code = ir_.function->instructions;
        for (const FlowSteps::Step& step : steps_.steps) {
            if (step.kind == FlowSteps::Kind::value) {
                pass_on(step.instruction);
            } else if (step.kind == FlowSteps::Kind::load) {
                const auto written = ir_.writes(step.instruction);
                const std::uint32_t* const read = steps_.slots.data() + step.first;
                for (std::size_t k = 0; k < step.count && k < written.size(); ++k)
                    if (read[k] >= first_ && read[k] < first_ + 64) grow(written[k], {std::uint64_t{1} << (read[k] - first_), 0, 0, 0});
            } else {
                const auto operands = module_.operands_of(code[step.instruction]);
                Dependence& d = arguments_[operands[0].index];
                d = join(d, of(operands[1]));
            }
        }
    }

    void pass_on(std::uint32_t i) {
        const Instruction& instruction = ir_.function->instructions[i];
        const auto operands = module_.operands_of(instruction);
        if (!may_depend(operands)) return;
        const auto written = ir_.writes(i);
        if (written.empty()) return;
        const Form& form = module_.form(instruction);
        if (form.opcode == Opcode::mov && operands.size() == 2 && operands[1].kind == OperandKind::vector) {
            for (const Operand& child : module_.children_of(operands[1])) grow(written[0], of(child));
            return;
        }
        in_loop_ = ir_.block(ir_.block_of[i]).loop != LoopId::none;
        const Dependence d = result_of(form, operands);
        for (const ptx::RegId r : written) grow(r, d);
    }

    /// Comparisons whose outcome decides whether a loop goes on.
    void find_loop_comparisons() {
        ends_loop_.assign(ir_.function->instructions.size(), false);
        std::vector<bool> seen(registers_.size());
        std::vector<std::uint32_t> work;
        for (const Loop& loop : ir_.loops) {
            for (const BlockId b : loop.exiting) {
                const Instruction& last = ir_.function->instructions[ir_.block(b).end - 1];
                if (last.guard == ptx::RegId::none || seen[index_of(last.guard)]) continue;
                seen[index_of(last.guard)] = true;
                work.push_back(index_of(last.guard));
            }
        }
        while (!work.empty()) {
            const auto reg = static_cast<ptx::RegId>(work.back());
            work.pop_back();
            for (const std::uint32_t i : ir_.definitions_of(reg)) {
                if (module_.form(ir_.function->instructions[i]).opcode == Opcode::setp) ends_loop_[i] = true;
                for (const ptx::RegId r : ir_.reads(i)) {
                    if (ir_.function->registers[index_of(r)].type != ptx::Type::pred || seen[index_of(r)]) continue;
                    seen[index_of(r)] = true;
                    work.push_back(index_of(r));
                }
            }
        }
    }

    template <class Visit>
    void each(std::uint64_t mask, Visit&& visit) {
        for (; mask != 0; mask &= mask - 1) visit(slots_[first_ + static_cast<std::uint32_t>(std::countr_zero(mask))]);
    }
    /// Each use once a slot, with its first line: whoever has it already is passed over without a look at its list.
    void use(std::uint64_t mask, const char* what, std::uint32_t i) {
        if (mask == 0) return;
        std::uint64_t* known = nullptr;
        for (auto& [word, slots] : known_uses_)
            if (word == what) known = &slots;
        if (known == nullptr) known = &known_uses_.emplace_back(what, 0).second;
        each(mask & ~*known, [&](Slot& slot) { slot.add_use(what, ir_.function->instructions[i].line); });
        *known |= mask;
    }

    void record_comparison(std::uint32_t i, std::span<const Operand> o) {
        std::size_t first = 1;
        while (first < o.size() && o[first - 1].paired) ++first;
        if (first + 1 >= o.size()) return;
        const Dependence a = of(o[first]), b = of(o[first + 1]);
        const std::uint64_t any = a.any() | b.any();
        if (any == 0) return;
        const auto ids = static_cast<unsigned>(a.ids | b.ids);
        if (ids != 0) {
            // The side that the index is not on holds the extent; where both are on one side (n - i > 0) it is that one.
            std::uint64_t extent = (a.ids == 0 ? a.any() : 0) | (b.ids == 0 ? b.any() : 0);
            if (extent == 0) extent = any;
            use(extent, "guard", i);
            const unsigned axes = (ids | (ids >> 3)) & 7U;
            if (std::has_single_bit(axes) && (ids & kPartOfIndex) == 0 && (ids & (ids >> 3) & axes) != 0) {
                const std::uint64_t plain = extent & ~(a.product | b.product | a.scaled | b.scaled);
                each(plain, [&](Slot& s) { if (s.guard_axis < 0) s.guard_axis = std::countr_zero(axes); });
            }
        }
        if (ends_loop_[i]) use(any, "loop bound", i);
        else if (ids == 0) use(any, "condition", i);
    }

    void record_address(std::uint32_t i, const Operand& address) {
        if (address.kind != OperandKind::address_reg) return;
        const Dependence d = of(address);
        address_ids_ |= d.ids;
        use(d.product, "address stride", i);
        if (d.value != 0) bases_.push_back({d.value, i});
        use(d.scaled & ~d.product, "address offset", i);
    }

    void record_call(std::uint32_t i, const Instruction& call) {
        const ptx::Function* function = called_function(module_, call);
        const std::vector<Slot>* inner = function != nullptr ? callee_(*function) : nullptr;
        const auto operands = module_.operands_of(call);
        const std::uint32_t written = written_operands(module_, call);
        if (inner == nullptr || operands.size() < written + 2 || operands[written + 1].kind != OperandKind::list) return;
        const auto arguments = module_.children_of(operands[written + 1]);
        for (const Slot& slot : *inner) {
            if (slot.parameter >= arguments.size()) continue;
            const Operand& argument = arguments[slot.parameter];
            Dependence d = of(argument);
            if (argument.kind == OperandKind::symbol || argument.kind == OperandKind::name || argument.kind == OperandKind::address_symbol) {
                const auto found = arguments_.find(argument.index);
                if (found != arguments_.end()) d = found->second;
            }
            for (const ParameterUse& u : slot.uses) {
                if (u.what == "address base") bases_.push_back({d.value, i});
                else each(d.any(), [&](Slot& s) { s.add_use(u.what.c_str(), u.ptx_line); });
            }
        }
    }

    void record(std::uint32_t i) {
        const Instruction& instruction = ir_.function->instructions[i];
        const Form& form = module_.form(instruction);
        const auto o = module_.operands_of(instruction);
        switch (form.opcode) {
        case Opcode::setp: case Opcode::set: record_comparison(i, o); return;
        case Opcode::call: record_call(i, instruction); return;
        case Opcode::shl: case Opcode::shr: if (o.size() > 2) use(of(o[2]).any(), "shift", i); return;
        case Opcode::div_: case Opcode::rem_: if (o.size() > 2) use(of(o[2]).any(), "divisor", i); return;
        case Opcode::cvta: if (o.size() > 1) cvta_ |= of(o[1]).value; return;
        default: break;
        }
        for (const Operand& operand : o) record_address(i, operand);
        if (!form.writes_memory) return;
        const bool is_store = form.opcode == Opcode::st || form.opcode == Opcode::atom || form.opcode == Opcode::red;
        if (!is_store) return;
        for (std::size_t k = form.results; k < o.size(); ++k) {
            if (o[k].kind == OperandKind::reg) use(of(o[k]).any(), "stored value", i);
            if (o[k].kind == OperandKind::vector)
                for (const Operand& child : module_.children_of(o[k])) use(of(child).any(), "stored value", i);
        }
    }

    /// A 64-bit value added unscaled into an address may be its base or a byte offset: a base has gone through cvta, or no
    /// other part of that address has.
    void settle_pointers() {
        std::uint64_t wide = 0;
        for (std::uint32_t s = 0; s < 64 && first_ + s < slots_.size(); ++s) {
            const Slot& slot = slots_[first_ + s];
            if (ptx::bits_of(slot.type) == module_.address_size && !ptx::is_float(slot.type)) wide |= std::uint64_t{1} << s;
            const ptx::Symbol& symbol = module_.symbol(ir_.function->parameters[slot.parameter]);
            if (symbol.is_pointer && slot.offset == 0) cvta_ |= std::uint64_t{1} << s;
        }
        cvta_ &= wide;
        for (const Base& base : bases_) {
            const std::uint64_t known = base.mask & cvta_;
            const std::uint64_t bases = known != 0 ? known : base.mask & wide;
            each(bases, [&](Slot& s) { s.is_pointer = true; });
            use(bases, "address base", base.instruction);
            use(base.mask & ~bases, "address offset", base.instruction);
        }
        each(cvta_, [](Slot& s) { s.is_pointer = true; });
    }

    struct Base { std::uint64_t mask; std::uint32_t instruction; };

    const KernelIr& ir_;
    const ptx::Module& module_;
    std::vector<Slot>& slots_;
    std::uint32_t first_;
    const FlowSteps& steps_;
    const std::function<const std::vector<Slot>*(const ptx::Function&)>& callee_;
    std::vector<Dependence> registers_;
    static constexpr std::uint8_t kRead = 1, kDepends = 2;
    mutable std::vector<std::uint8_t> flags_;         // by register: this sweep has read it; its Dependence is not empty
    std::map<std::uint32_t, Dependence> arguments_;   // by SymbolId of a call's argument variable
    std::vector<bool> ends_loop_;
    std::vector<Base> bases_;
    std::vector<std::pair<const char*, std::uint64_t>> known_uses_;   // by the literal: slots that have it
    std::uint64_t cvta_{};
    std::uint8_t address_ids_{};
    bool changed_{}, in_loop_{};
    int sweeps_{};
};

}  // namespace

void Slot::add_use(const char* what, std::uint32_t line) {
    for (const ParameterUse& u : uses)
        if (u.what == what) return;
    uses.push_back({what, line});
}

namespace {

/// A piece of a parameter that a load reads: the slots of a function are these, sorted and each once.
struct Piece {
    std::uint64_t place{};       // parameter in the high half, offset in the low one
    std::uint32_t order{};       // of the loads: the first one's type counts
    ptx::Type type{};
};

/// Slots in the order of parameter and offset; `numbers` becomes the slot of each piece, by its order.
std::vector<Slot> slots_of(std::vector<Piece>& pieces, std::vector<std::uint32_t>& numbers) {
    std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.place != b.place ? a.place < b.place : a.order < b.order; });
    std::vector<Slot> slots;
    numbers.resize(pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (i == 0 || pieces[i].place != pieces[i - 1].place)
            slots.push_back({static_cast<std::uint32_t>(pieces[i].place >> 32), static_cast<std::uint32_t>(pieces[i].place), pieces[i].type, false, -1, {}});
        numbers[pieces[i].order] = static_cast<std::uint32_t>(slots.size() - 1);
    }
    return slots;
}

FlowSteps find_steps(const KernelIr& ir, std::vector<Slot>& slots) {
    const ptx::Module& module = *ir.module;
    const auto& code = ir.function->instructions;
    const ParameterAddresses addresses(ir);
    FlowSteps found;
    found.steps.reserve(code.size() / 2);
    std::vector<Piece> pieces;
    for (std::uint32_t i = 0; i < code.size(); ++i) {
        const Form& form = module.form(code[i]);
        if (is_end(form)) found.ends.push_back(i);
        if (form.space != Space::param || (form.opcode != Opcode::ld && form.opcode != Opcode::st)) {
            if (passes_values_on(form)) found.steps.push_back({i, FlowSteps::Kind::value, 0, 0});
            continue;
        }
        const auto operands = module.operands_of(code[i]);
        if (operands.size() < 2) continue;
        if (form.opcode == Opcode::st) {
            found.steps.push_back({i, FlowSteps::Kind::argument, 0, 0});
            continue;
        }
        const auto place = addresses.place(operands[1]);
        if (!place) continue;
        const auto first = static_cast<std::uint32_t>(pieces.size());
        found.steps.push_back({i, FlowSteps::Kind::load, first, form.vector});
        for (std::uint32_t k = 0; k < form.vector; ++k) {
            const std::uint32_t offset = place->offset + k * ptx::bits_of(form.type) / 8;
            pieces.push_back({std::uint64_t{place->parameter} << 32 | offset, first + k, form.type});
        }
    }
    slots = slots_of(pieces, found.slots);
    return found;
}

}  // namespace

FlowResult parameter_flow(const KernelIr& ir, const std::function<const std::vector<Slot>*(const ptx::Function&)>& callee) {
    FlowResult result;
    const FlowSteps steps = find_steps(ir, result.slots);
    for (std::uint32_t first = 0; first < result.slots.size(); first += 64) result.address_ids |= Flow(ir, result.slots, first, steps, callee).run();
    return result;
}

}  // namespace flipflop
