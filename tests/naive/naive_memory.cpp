// The machine's memory: loads, stores, atomic operations, asynchronous copies.
#include "naive_grid.hpp"

namespace naive {

using flipflop::ptx::Opcode;
using flipflop::ptx::OperandKind;

Space Grid::resolve(Space space, Value address) const {
    if (space != Space::generic && space != Space::none) return space;
    if (!address) return Space::generic;
    if (*address >= kSharedWindow && *address < kSharedWindow + kWindowBytes) return Space::shared;
    if (*address >= kLocalWindow && *address < kLocalWindow + kWindowBytes) return Space::local;
    if (*address >= kConstSymbols && *address < kConstSymbols + kWindowBytes) return Space::constant;
    return Space::global;
}

Bytes* Grid::bytes_of(Thread& thread, Space space) {
    switch (space) {
        case Space::shared: return &shared_;
        case Space::local: return &thread.local;
        case Space::constant: return &constants_;
        case Space::global: return global_;
        default: return nullptr;
    }
}

void Grid::parameter(const Thread& thread, Frame& frame, const Form& form, const Operand& address, const std::vector<Operand>& values) {
    if (address.kind != OperandKind::address_symbol) throw GiveUp("parameter through a register");
    Bytes& object = frame.parameters[address.index];
    const unsigned element = std::max(1u, flipflop::ptx::bits_of(form.type) / 8);
    for (unsigned i = 0; i < form.vector; ++i) {
        const auto offset = static_cast<std::uint64_t>(address.value) + i * element;
        if (form.opcode == Opcode::ld) write(frame, values[i], object.load(offset, element), form.type);
        else object.store(offset, read(thread, frame, values[i]), element);
    }
}

void Grid::memory(Thread& thread, Frame& frame, const Instruction& instruction) {
    const Form& form = module_.form(instruction);
    const auto operands = module_.operands_of(instruction);
    std::size_t where = 0;
    while (operands[where].kind != OperandKind::address_reg && operands[where].kind != OperandKind::address_symbol && operands[where].kind != OperandKind::address_immediate) ++where;
    const unsigned element = std::max(1u, flipflop::ptx::bits_of(form.type) / 8), bytes = element * form.vector;
    const bool loads = form.opcode == Opcode::ld || form.opcode == Opcode::ldu, stores = form.opcode == Opcode::st;
    std::vector<Operand> values;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        if (i == where) continue;
        if (operands[i].kind == OperandKind::vector) for (const Operand& c : module_.children_of(operands[i])) values.push_back(c);
        else values.push_back(operands[i]);
    }
    if (form.space == Space::param) return parameter(thread, frame, form, operands[where], values);
    const Value raw = address_of(frame, operands[where]);
    const Space space = resolve(form.space, raw);
    const bool generic = form.space == Space::generic || form.space == Space::none;
    Value address = raw;
    if (raw && generic && space == Space::shared) *address -= kSharedWindow;
    if (raw && generic && space == Space::local) *address -= kLocalWindow;
    listener_.touched(thread, key(frame), instruction, {space, address, bytes, 0, !stores, !loads, !loads && !stores});
    Bytes* place = bytes_of(thread, space);
    if (!loads && !stores) return atomic(thread, frame, form, place, address, element, values);
    // Without contents of its own, global memory only holds what the launch gives and nobody changes.
    const bool kept = space != Space::global || options_.global != nullptr;
    if (stores && !address) {
        if (options_.global) throw GiveUp("line " + std::to_string(instruction.line) + ": a store whose address is not known");
        if (place && kept) place->clear();
        return;
    }
    for (unsigned i = 0; i < form.vector && i < values.size(); ++i) {
        if (loads) write(frame, values[i], place && address ? place->load(*address + i * element, element) : Value{}, form.type);
        else if (place && kept) place->store(*address + i * element, read(thread, frame, values[i]), element);
    }
}

void Grid::atomic(const Thread& thread, Frame& frame, const Form& form, Bytes* place, Value address, unsigned bytes, const std::vector<Operand>& values) {
    const bool returns = form.opcode == Opcode::atom, kept = place && address && (place != global_ || options_.global);
    const std::size_t first = returns ? 1 : 0;
    Value old, now;
    if (options_.global && kept && first < values.size()) {
        old = place->load(*address, bytes);
        const Value b = read(thread, frame, values[first]);
        const Value c = first + 1 < values.size() ? read(thread, frame, values[first + 1]) : Value{};
        if (old && b) now = combine(form, *old, *b, c);
    }
    if (returns) write(frame, values[0], old, form.type);      // else what they return and leave behind is not followed
    if (kept) place->store(*address, now, bytes);
}

void Grid::copy_async(Thread& thread, Frame& frame, const Instruction& instruction) {
    const auto operands = module_.operands_of(instruction);
    const auto bytes = static_cast<unsigned>(operands[2].value);
    const Value to = address_of(frame, operands[0]), from = address_of(frame, operands[1]);
    Value size = bytes;
    if (operands.size() > 3 && operands[3].kind != OperandKind::none) size = read(thread, frame, operands[3]);
    listener_.touched(thread, key(frame), instruction, {Space::global, from, bytes, 0, true, false, false});
    listener_.touched(thread, key(frame), instruction, {Space::shared, to, bytes, 1, false, true, false});
    for (unsigned i = 0; to && i < bytes; ++i) {
        Value byte;
        if (size && i >= *size) byte = 0;
        else if (size && from) byte = global_->load(*from + i, 1);
        shared_.store(*to + i, byte, 1);
    }
}

}  // namespace naive
