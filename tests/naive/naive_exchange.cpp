// What lanes of a warp do together: shuffles, votes, reductions, matrices. A group of lanes waits at the instruction until
// all that its member mask names are there (PTX ISA 9.7.9.6 and following).
#include <bit>

#include "naive_grid.hpp"

namespace naive {

using flipflop::ptx::Opcode;
using flipflop::ptx::OperandKind;

bool Grid::is_exchange(const Form& form) {
    switch (form.opcode) {
        case Opcode::shfl: case Opcode::vote: case Opcode::match: case Opcode::redux: case Opcode::activemask: case Opcode::bar_warp:
        case Opcode::ldmatrix: case Opcode::stmatrix: case Opcode::mma: case Opcode::elect:
            return true;
        default: return false;
    }
}

/// The lanes that must take part; nothing: whoever is there.
Value Grid::members_of(const Thread& thread) const {
    const Instruction& instruction = at(thread);
    const Form& form = module_.form(instruction);
    const auto operands = module_.operands_of(instruction);
    switch (form.opcode) {
        case Opcode::activemask: return std::nullopt;
        case Opcode::ldmatrix: case Opcode::stmatrix: case Opcode::mma: return 0xffffffff;
        case Opcode::vote: if (!form.sync) return std::nullopt; break;
        case Opcode::shfl: if (!form.sync) return std::nullopt; break;
        default: break;
    }
    const Value mask = operands.empty() ? Value{} : read(thread, thread.frames.back(), operands.back());
    if (!mask) throw GiveUp("line " + std::to_string(instruction.line) + ": a member mask that is not known");
    return *mask & 0xffffffff;
}

bool Grid::exchange(std::vector<Thread>& threads, bool partial) {
    bool any = false;
    for (std::size_t first = 0; first < threads.size(); first += 32) {
        std::map<std::uint64_t, std::vector<Thread*>> groups;
        std::uint64_t present = 0, alive = 0;
        for (std::size_t i = first; i < std::min(first + 32, threads.size()); ++i) {
            present |= 1ull << (i - first);
            if (threads[i].state != Thread::State::done) alive |= 1ull << (i - first);
            if (threads[i].state == Thread::State::exchange) groups[key(threads[i].frames.back())].push_back(&threads[i]);
        }
        for (auto& [where, group] : groups) {
            std::uint64_t here = 0, named = 0;
            for (const Thread* t : group) {
                here |= 1ull << t->lane();
                named |= members_of(*t).value_or(alive);
            }
            if (!partial && (named & alive & ~here)) continue;
            const bool open = !members_of(*group.front()).has_value();
            const bool matrix = module_.form(at(*group.front())).opcode == Opcode::ldmatrix || module_.form(at(*group.front())).opcode == Opcode::mma;
            if (!open && !matrix && (named & ~present)) listener_.fault(at(*group.front()), "a member mask names lanes that the block does not have");
            else if (!open && (named & ~here)) listener_.fault(at(*group.front()), "a member mask names lanes that do not come");
            exchange_group(group);
            any = true;
            if (partial) return true;
        }
    }
    return any;
}

void Grid::exchange_group(const std::vector<Thread*>& group) {
    const Instruction& instruction = at(*group.front());
    const Form& form = module_.form(instruction);
    const auto operands = module_.operands_of(instruction);
    std::uint64_t here = 0;
    for (const Thread* t : group) here |= 1ull << t->lane();
    std::vector<Value> sources(32);
    const auto frame = [](Thread* t) -> Frame& { return t->frames.back(); };
    const std::size_t first = operands.empty() ? 0 : 1 + (operands[0].paired ? 1 : 0);
    const bool single = form.opcode == Opcode::vote || form.opcode == Opcode::match || form.opcode == Opcode::redux;
    if (single)
        for (Thread* t : group) sources[t->lane()] = read(*t, frame(t), operands[first]);
    bool known = true;
    for (const Thread* t : group) known = known && (!single || sources[t->lane()].has_value());
    switch (form.opcode) {
        case Opcode::shfl: shuffle(group, form); break;
        case Opcode::ldmatrix: case Opcode::stmatrix: case Opcode::mma: matrix_access(group, form); break;
        case Opcode::activemask:
            for (Thread* t : group) write(frame(t), operands[0], here, Type::b32);
            break;
        case Opcode::elect:
            for (Thread* t : group) {
                write(frame(t), operands[0], static_cast<std::uint64_t>(std::countr_zero(here)), Type::b32);
                if (operands[0].paired) write(frame(t), operands[1], t == group.front(), Type::pred);
            }
            break;
        case Opcode::vote: {
            std::uint64_t yes = 0;
            for (const Thread* t : group) yes |= sources[t->lane()].value_or(0) ? 1ull << t->lane() : 0;
            const std::uint64_t result = form.has("ballot") ? yes : form.has("all") ? yes == here : form.has("any") ? yes != 0 : yes == 0 || yes == here;
            for (Thread* t : group) write(frame(t), operands[0], known ? Value{result} : Value{}, form.has("ballot") ? Type::b32 : Type::pred);
            break;
        }
        case Opcode::match:
            for (Thread* t : group) {
                std::uint64_t same = 0;
                for (const Thread* o : group) same |= sources[o->lane()] == sources[t->lane()] ? 1ull << o->lane() : 0;
                const bool all = form.has("all");
                write(frame(t), operands[0], known ? Value{all && same != here ? 0 : same} : Value{}, Type::b32);
                if (operands[0].paired) write(frame(t), operands[1], known ? Value{same == here} : Value{}, Type::pred);
            }
            break;
        case Opcode::redux: {
            Value all = sources[group.front()->lane()];
            for (std::size_t k = 1; k < group.size() && known; ++k) all = combine(form, *all, *sources[group[k]->lane()], {});
            for (Thread* t : group) write(frame(t), operands[0], known ? all : Value{}, form.type);
            break;
        }
        default: break;
    }
    std::vector<std::uint32_t> who;
    for (Thread* t : group) who.push_back(t->linear);
    if (form.opcode == Opcode::bar_warp) listener_.met(who);
    for (Thread* t : group) {
        t->state = Thread::State::running;
        advance(frame(t), frame(t).pc + 1);
    }
}

/// The pseudocode of PTX ISA 9.7.9.6.
void Grid::shuffle(const std::vector<Thread*>& group, const Form& form) {
    struct Result { Value value; bool in{}; };
    std::vector<Result> results;
    for (Thread* t : group) {
        const auto operands = module_.operands_of(at(*t));
        const std::size_t first = 1 + (operands[0].paired ? 1 : 0);
        const Value b = read(*t, t->frames.back(), operands[first + 1]), c = read(*t, t->frames.back(), operands[first + 2]);
        Result r;
        if (b && c) {
            const int lane = static_cast<int>(t->lane()), value = static_cast<int>(*b & 0x1f), clamp = static_cast<int>(*c & 0x1f), mask = static_cast<int>(*c >> 8 & 0x1f);
            const int highest = (lane & mask) | (clamp & ~mask), lowest = lane & mask;
            int from = lane;
            if (form.has("up")) { from = lane - value; r.in = from >= highest; }
            else if (form.has("down")) { from = lane + value; r.in = from <= highest; }
            else if (form.has("bfly")) { from = lane ^ value; r.in = from <= highest; }
            else { from = lowest | (value & ~mask); r.in = from <= highest; }
            if (!r.in) from = lane;
            for (Thread* o : group)
                if (static_cast<int>(o->lane()) == from) r.value = read(*o, o->frames.back(), operands[first]);
            if (!r.value && options_.opaque) r.value = 0xdeadbeef;    // a lane that takes no part: undefined
        }
        results.push_back(r);
    }
    for (std::size_t k = 0; k < group.size(); ++k) {
        const auto operands = module_.operands_of(at(*group[k]));
        write(group[k]->frames.back(), operands[0], results[k].value, Type::b32);
        if (operands[0].paired) write(group[k]->frames.back(), operands[1], results[k].in, Type::pred);
    }
}

/// ldmatrix and stmatrix move 8x8 matrices of 16-bit elements whose rows lanes 8k..8k+7 point to (PTX ISA 9.7.14.5.15);
/// what mma makes of its fragments is not computed: bits made from all that goes in stand for it.
void Grid::matrix_access(const std::vector<Thread*>& group, const Form& form) {
    const auto operands = module_.operands_of(at(*group.front()));
    const auto registers = [&](const Operand& o) {
        std::vector<Operand> list;
        if (o.kind == OperandKind::vector) list.assign(module_.children_of(o).begin(), module_.children_of(o).end());
        else list.push_back(o);
        return list;
    };
    if (form.opcode == Opcode::mma) {
        std::uint64_t all = static_cast<std::uint64_t>(form.opcode);
        bool known = options_.opaque;
        for (Thread* t : group)
            for (std::size_t k = 1; k < operands.size(); ++k)
                for (const Operand& o : registers(operands[k])) {
                    const Value v = read(*t, t->frames.back(), o);
                    known = known && v.has_value();
                    all = mixed(all, v.value_or(0));
                }
        const auto out = registers(operands[0]);
        for (Thread* t : group)
            for (std::size_t k = 0; k < out.size(); ++k) {
                all = mixed(all, k);
                write(t->frames.back(), out[k], known ? Value{all & 0x3fffffff} : Value{}, Type::none);
            }
        return;
    }
    const bool loads = form.opcode == Opcode::ldmatrix;
    const std::vector<Operand> list = registers(operands[loads ? 0 : 1]);
    if (group.size() != 32 || !form.has("m8n8")) throw GiveUp("a matrix access of another kind");
    std::vector<Value> rows(32);
    for (Thread* t : group) {
        Value a = address_of(t->frames.back(), operands[loads ? 1 : 0]);
        if (a && *a >= kSharedWindow) *a -= kSharedWindow;
        rows[t->lane()] = a;
        if (t->lane() < 8 * list.size()) listener_.touched(*t, key(t->frames.back()), at(*t), {Space::shared, a, 16, 0, loads, !loads, false});
    }
    for (Thread* t : group)
        for (std::size_t k = 0; k < list.size(); ++k) {
            std::uint64_t bits = 0;
            bool known = true;
            const Value held = loads ? Value{} : read(*t, t->frames.back(), list[k]);
            for (unsigned half = 0; half < 2; ++half) {
                unsigned row = t->lane() / 4, column = t->lane() % 4 * 2 + half;
                if (form.has("trans")) std::swap(row, column);
                const Value at_row = rows[8 * k + row];
                if (!loads) {
                    if (!at_row) throw GiveUp("a matrix store whose address is not known");
                    shared_.store(*at_row + 2 * column, held ? Value{*held >> (16 * half)} : Value{}, 2);
                    continue;
                }
                const Value v = at_row ? shared_.load(*at_row + 2 * column, 2) : Value{};
                known = known && v.has_value();
                bits |= v.value_or(0) << (16 * half);
            }
            if (loads) write(t->frames.back(), list[k], known ? Value{bits} : Value{}, Type::b32);
        }
}

}  // namespace naive
