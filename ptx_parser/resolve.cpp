// Names of a function: registers and symbols as they are used, labels when the function ends (they may stand behind
// their uses; PTX ISA 4.3.2: a label is visible in its scope and those inside).
#include <fmt/format.h>

#include "parser.hpp"

namespace flipflop::ptx::detail {

/// The innermost declaration of a name in the body; `reg` is its register when it is one.
const Entry* Parser::resolve_local(const Name& name, RegId& reg) {
    const Entry* in_range = nullptr;
    bool look_for_single = !name.numbered;
    if (name.numbered) {
        const std::string_view prefix = name.prefix();
        Entry* entry = ranges_.find(prefix.data(), prefix.size(), hash(prefix));
        if (entry == nullptr) return nullptr;
        look_for_single = entry->has_singles;
        while (entry != nullptr && name.number >= entry->count) entry = ranges_.shadowed_by(*entry);
        in_range = entry;
    }
    if (look_for_single) {
        const Entry* single = names_.find(name.at, name.length, hash(name.text()));
        if (single != nullptr && (in_range == nullptr || single->depth >= in_range->depth)) {
            if (single->kind == EntryKind::reg) reg = static_cast<RegId>(single->value);
            return single;
        }
    }
    if (in_range != nullptr) reg = static_cast<RegId>(in_range->value + name.number);
    return in_range;
}

/// Registers declared outside functions (PTX 1.x): each function that names one has it as its own.
RegId Parser::use_module_register(const Name& name, const Entry& entry) {
    Function& f = function();
    const auto id = static_cast<std::uint32_t>(f.registers.size());
    Register reg;
    reg.name = name.text();
    reg.type = entry.type;
    reg.vector = entry.vector;
    f.registers.push_back(reg);
    f.register_ranges.push_back({static_cast<RegId>(id), 1, open_scopes_.back(), false});
    Entry& local = names_.declare(name.text(), hash(name.text()));
    local.kind = EntryKind::reg;
    local.type = entry.type;
    local.vector = entry.vector;
    local.value = id;
    note_single(name);
    return static_cast<RegId>(id);
}

/// Reports a name once in each function: the name is declared as poisoned, which silences what follows from it.
void Parser::undeclared(const Name& name, Position at) {
    if (name.at + name.length >= end_) return;   // half a name, most likely: that the text ends here is said anyway
    std::string help;
    if (name.numbered && !open_scopes_.empty()) {
        const std::string_view prefix = name.prefix();
        if (Entry* range = ranges_.find(prefix.data(), prefix.size(), hash(prefix)); range != nullptr && range->count != 0)
            help = fmt::format("{}<{}> declares {}0 to {}{}", prefix, range->count, prefix, prefix, range->count - 1);
    }
    report(Code::undeclared_name, at, fmt::format("'{}' is not declared", name.text()), std::move(help));
    if (open_scopes_.empty()) return;
    Entry& entry = names_.declare(name.text(), hash(name.text()));
    entry.kind = EntryKind::poisoned;
    note_single(name);
}

Parser::LabelKey& Parser::label_slot(std::string_view name, std::uint64_t h, std::uint32_t scope) {
    const std::size_t mask = label_slots_.size() - 1;
    const auto& labels = function().labels;
    for (std::size_t i = (h ^ (scope * std::uint64_t{0x9e3779b97f4a7c15})) & mask;; i = (i + 1) & mask) {
        LabelKey& slot = label_slots_[i];
        if (slot.generation != label_generation_) return slot;
        if (slot.hash == h && labels[slot.label].scope == scope && labels[slot.label].name == name) return slot;
    }
}

void Parser::grow_labels() {
    label_slots_.assign(label_slots_.size() * 2, LabelKey{});
    label_generation_ = 1;
    auto& labels = function().labels;
    for (std::uint32_t i = 0; i < labels.size(); ++i) {
        const std::uint64_t h = hash(labels[i].name);
        label_slot(labels[i].name, h, labels[i].scope) = {h, i, label_generation_};
    }
}

void Parser::resolve_labels() {
    Function& f = function();
    Module& m = module();
    for (const PendingLabel& pending : pending_) {
        const Label* found = nullptr;
        for (std::uint32_t scope = pending.scope;; scope = f.scopes[scope].parent) {
            const LabelKey& slot = label_slot(pending.name.text(), pending.hash, scope);
            if (slot.generation == label_generation_) {
                found = &f.labels[slot.label];
                break;
            }
            if (scope == 0) break;
        }
        if (found == nullptr) {
            const Position at{pending.name.at, pending.line};
            RegId ignored = RegId::none;
            const Entry* entry = resolve_local(pending.name, ignored);
            if (entry != nullptr && entry->kind == EntryKind::symbol && pending.table == kNoIndex && !pending.must_be_label) {
                Operand& operand = m.operands[pending.operand];  // a table or prototype behind its use
                operand.kind = OperandKind::name;
                operand.index = entry->value;
                continue;
            }
            if (!truncated_ && (entry == nullptr || entry->kind != EntryKind::poisoned)) {
                if (pending.must_be_label) {
                    report(Code::missing_label, at, fmt::format("there is no label '{}' in '{}'", pending.name.text(), f.name));
                    open_scopes_.push_back(0);
                    names_.declare(pending.name.text(), pending.hash).kind = EntryKind::poisoned;
                    note_single(pending.name);
                    open_scopes_.pop_back();
                } else {
                    open_scopes_.push_back(0);
                    undeclared(pending.name, at);
                    open_scopes_.pop_back();
                }
            }
        }
        const auto target = static_cast<std::uint32_t>(found != nullptr ? found->instruction : instructions_.size());
        if (pending.table != kNoIndex) {
            m.label_tables[pending.table].instruction_targets[pending.table_index] = target;
        } else if (found != nullptr) {
            Operand& operand = m.operands[pending.operand];
            operand.kind = OperandKind::label;
            operand.index = 0;
            operand.value = target;
        }
    }
    pending_.clear();
}

}  // namespace flipflop::ptx::detail
