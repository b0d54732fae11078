#include "opcode_info.hpp"

#include <algorithm>

#include "edit_distance.hpp"

namespace flipflop::ptx {
namespace detail {
namespace {

namespace rules {
constexpr ClassRule arith = ClassRule::arith, divide = ClassRule::divide, sfu = ClassRule::sfu, logic = ClassRule::logic,
                    load = ClassRule::load, store = ClassRule::store, conversion = ClassRule::conversion,
                    predicate = ClassRule::predicate, move = ClassRule::move, control = ClassRule::control,
                    tensor = ClassRule::tensor, texture = ClassRule::texture, atomic = ClassRule::atomic,
                    async_copy = ClassRule::async_copy, barrier = ClassRule::barrier, fence = ClassRule::fence,
                    shuffle = ClassRule::shuffle, vote = ClassRule::vote, other = ClassRule::other,
                    integer = ClassRule::integer;
}  // namespace rules

constexpr std::array<OpcodeRow, kOpcodeCount> kRows{{
    {},
#define PTX_OP(name, identifier, rule, results, branch, reads, writes, ptx, sm, target, operands)                    \
    OpcodeRow{OpcodeInfo{name, Opcode::identifier, results, branch, reads, writes, ptx, sm, TargetRule::target,      \
                         operands},                                                                                   \
              rules::rule},
#include "instructions.def"
#undef PTX_OP
}};

constexpr bool sorted_by_name() {
    for (std::size_t i = 2; i < kRows.size(); ++i)
        if (!(kRows[i - 1].info.name < kRows[i].info.name)) return false;
    return true;
}
static_assert(sorted_by_name(), "instructions.def must be sorted by name");

Opcode exact(std::string_view name) {
    const auto* begin = kRows.data() + 1;
    const auto* end = kRows.data() + kRows.size();
    const auto* row = std::lower_bound(begin, end, name, [](const OpcodeRow& r, std::string_view n) { return r.info.name < n; });
    return row != end && row->info.name == name ? row->info.opcode : Opcode::unknown;
}

InstructionClass by_type(Type type) {
    switch (type) {
        case Type::f32: case Type::f32x2: case Type::tf32: return InstructionClass::fp32;
        case Type::f64: return InstructionClass::fp64;
        case Type::f16: case Type::f16x2: return InstructionClass::fp16;
        case Type::bf16: case Type::bf16x2: return InstructionClass::bf16;
        case Type::b64: case Type::u64: case Type::s64: return InstructionClass::int64;
        case Type::pred: return InstructionClass::predicate;
        default: return InstructionClass::int32;
    }
}

InstructionClass load_class(Space space) {
    switch (space) {
        case Space::shared: return InstructionClass::load_shared;
        case Space::local: return InstructionClass::load_local;
        case Space::constant: return InstructionClass::load_const;
        case Space::param: return InstructionClass::load_param;
        default: return InstructionClass::load_global;
    }
}

InstructionClass store_class(Space space) {
    switch (space) {
        case Space::shared: return InstructionClass::store_shared;
        case Space::local: return InstructionClass::store_local;
        case Space::param: return InstructionClass::move;  // an argument of a call: ptxas keeps it in a register
        default: return InstructionClass::store_global;
    }
}

}  // namespace

const OpcodeRow& row_of(Opcode opcode) {
    const auto index = static_cast<std::size_t>(opcode);
    return kRows[index < kRows.size() ? index : 0];
}

Opcode match_opcode(std::string_view text) {
    Opcode best = Opcode::unknown;
    for (std::size_t end = 0; end <= text.size(); ++end) {
        if (end < text.size() && text[end] != '.' && text.substr(end, 2) != "::") continue;
        if (const Opcode found = exact(text.substr(0, end)); found != Opcode::unknown) best = found;
    }
    return best;
}

std::string_view closest_opcode(std::string_view text) {
    const std::string_view first = text.substr(0, text.find('.'));
    std::string_view best;
    std::size_t best_distance = 3;
    for (std::size_t i = 1; i < kRows.size(); ++i) {
        const std::string_view name = kRows[i].info.name;
        const auto parts = static_cast<std::size_t>(std::count(name.begin(), name.end(), '.'));
        std::size_t end = first.size();
        for (std::size_t p = 0; p < parts && end < text.size(); ++p) end = std::min(text.find('.', end + 1), text.size());
        const std::string_view same_parts = text.substr(0, end);
        if (same_parts.size() > 64) continue;
        const std::size_t distance = edit_distance_ignoring_case(same_parts, name);
        // "mbarrier.ival" is as near to "barrier" as to "mbarrier.inval": the longer name agrees in more.
        if ((distance < best_distance || (distance == best_distance && name.size() > best.size())) && distance < 3 && distance * 3 <= name.size() + 1) {
            best_distance = distance;
            best = name;
        }
    }
    return best;
}

InstructionClass classify(const Form& form) {
    switch (row_of(form.opcode).rule) {
        case ClassRule::arith: return by_type(form.type);
        case ClassRule::divide: return form.type == Type::f32 ? InstructionClass::sfu : by_type(form.type);
        case ClassRule::sfu: return form.type == Type::f64 ? InstructionClass::fp64 : InstructionClass::sfu;
        case ClassRule::integer: return InstructionClass::int32;
        case ClassRule::logic: return form.type == Type::pred ? InstructionClass::predicate : InstructionClass::logic;
        case ClassRule::load: return load_class(form.space);
        case ClassRule::store: return store_class(form.space);
        case ClassRule::conversion: return InstructionClass::conversion;
        case ClassRule::predicate: return InstructionClass::predicate;
        case ClassRule::move: return form.type == Type::pred ? InstructionClass::predicate : InstructionClass::move;
        case ClassRule::control: return InstructionClass::control;
        case ClassRule::tensor: return InstructionClass::tensor;
        case ClassRule::texture: return InstructionClass::texture;
        case ClassRule::atomic: return InstructionClass::atomic;
        case ClassRule::async_copy: return InstructionClass::async_copy;
        case ClassRule::barrier: return InstructionClass::barrier;
        case ClassRule::fence: return InstructionClass::fence;
        case ClassRule::shuffle: return InstructionClass::shuffle;
        case ClassRule::vote: return InstructionClass::vote;
        case ClassRule::other: return InstructionClass::other;
    }
    return InstructionClass::other;
}

}  // namespace detail

const OpcodeInfo& info(Opcode opcode) { return detail::row_of(opcode).info; }

}  // namespace flipflop::ptx
