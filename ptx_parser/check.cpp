// What ptxas would say of an instruction, as far as a user benefits: targets and versions, register sizes, vector
// widths, operand counts, addresses. The rules are data (instructions.def, features.def).
#include <algorithm>

#include <fmt/format.h>

#include "opcode_info.hpp"
#include "parser.hpp"

namespace flipflop::ptx::detail {
namespace {

struct Feature {
    std::string_view opcode;     ///< its table name, or "" for any
    std::string_view modifiers;  ///< all of which the form must have, with blanks between
    std::uint16_t since_ptx, since_sm;
    TargetRule target;
    std::string_view what;
};

constexpr Feature kFeatures[] = {
#define PTX_FEATURE(opcode, modifiers, ptx, sm, target, what) {opcode, modifiers, ptx, sm, TargetRule::target, what},
#include "features.def"
#undef PTX_FEATURE
};

std::string version_text(unsigned version) { return fmt::format("{}.{}", version / 10, version % 10); }

bool target_fits(const Module& m, TargetRule rule, unsigned sm) {
    if (m.target_number < sm) return false;
    if (rule == TargetRule::any) return true;
    if (rule == TargetRule::sm90a) return m.target_number == 90 && m.target_suffix == 'a';
    if (rule == TargetRule::specific_100 && m.target_number >= 120) return false;
    return m.target_suffix != 0;
}

bool has_all(const Form& form, std::string_view modifiers) {
    while (!modifiers.empty()) {
        const std::size_t end = std::min(modifiers.find(' '), modifiers.size());
        if (!form.has(modifiers.substr(0, end))) return false;
        modifiers.remove_prefix(std::min(end + 1, modifiers.size()));
    }
    return true;
}

std::string needed_target(TargetRule rule, unsigned sm) {
    if (rule == TargetRule::sm90a) return "sm_90a";
    if (rule == TargetRule::specific_100) return fmt::format("an architecture-specific target such as sm_{}a, not sm_12x", sm);
    if (rule == TargetRule::specific) return fmt::format("an architecture-specific target such as sm_{}a", sm);
    return fmt::format("sm_{} or later", sm);
}

}  // namespace

/// Version and target of a form, once when it is first used.
void Parser::check_form(std::uint32_t index, Position at) {
    const Module& m = module();
    const Form& form = m.forms[index];
    if (form.opcode == Opcode::unknown) return;
    const OpcodeInfo& row = info(form.opcode);
    for (std::string_view modifier : form.modifiers)
        if (!is_known_modifier(modifier) && unknown_modifiers_.try_emplace(modifier, index).second)
            report(Code::unknown_modifier, at, fmt::format("the modifier '.{}' of '{}' is not known", modifier, row.name));
    const unsigned version = m.version_major * 10 + m.version_minor;
    const auto check = [&](std::string_view what, unsigned since_ptx, unsigned since_sm, TargetRule rule) {
        if (version != 0 && version < since_ptx) {
            report(Code::needs_version, at, fmt::format("{} needs .version {} or later, this is {}", what, version_text(since_ptx), version_text(version)));
            return false;
        }
        if (m.target_number != 0 && !target_fits(m, rule, since_sm)) {
            const bool old = m.target_number < since_sm;
            report(old ? Code::needs_target : Code::needs_specific_target, at, fmt::format("{} is not supported on .target {}", what, m.target),
                   fmt::format("it needs .target {}", needed_target(rule, since_sm)));
            return false;
        }
        return true;
    };
    if (!check(fmt::format("'{}'", row.name), row.since_ptx, row.since_sm, row.target)) return;
    for (const Feature& feature : kFeatures) {
        if (!feature.opcode.empty() && feature.opcode != row.name) continue;
        if (!has_all(form, feature.modifiers)) continue;
        if (!check(feature.what, feature.since_ptx, feature.since_sm, feature.target)) return;
    }
    if (form.type == Type::none && !row.operands.empty() && row.operands.find_first_of("dDlv") != std::string_view::npos && row.operands.find('d') != std::string_view::npos)
        report(Code::missing_type, at, fmt::format("'{}' names no type", form.text), fmt::format("write {}.s32, for example", row.name));
}

void Parser::check_operands(const Instruction& instruction, FormDetail& detail) {
    const Form& form = module().forms[instruction.form];
    const Position at{begin_ + detail.first_offset, instruction.line};
    const Position here_at{begin_ + instruction.offset, instruction.line};
    (void)at;
    if (detail.checked != 0 || !detail.open_ended) {
        std::size_t count = operands_.size();
        for (const Operand& operand : operands_)
            if (operand.paired) --count;
        if (count < detail.least || (!detail.open_ended && count > detail.checked)) {
            report(Code::operand_count, here_at,
                   fmt::format("'{}' has {} operand{}, {} {}", form.text, count, count == 1 ? "" : "s", count < detail.least ? "at least" : "at most",
                               count < detail.least ? detail.least : detail.checked));
            return;
        }
        std::size_t position = 0;
        for (std::size_t i = 0; i < operands_.size() && position < detail.checked; ++i) {
            check_operand(form, detail, position, operands_[i], types_[i], here_at);
            if (!operands_[i].paired) ++position;
            else if (i + 1 < operands_.size()) ++i, ++position;
        }
    }
    if (detail.is_call) check_call(instruction, here_at);
}

void Parser::check_operand(const Form& form, const FormDetail& detail, std::size_t index, const Operand& operand, Type type, Position at) {
    const std::uint64_t allowed = detail.allowed[index];
    const char letter = detail.letters[index];
    if (operand.kind == OperandKind::reg) {
        if (allowed != 0 && type != Type::none && (allowed >> static_cast<unsigned>(type) & 1) == 0) {
            const Register& reg = function().registers[operand.index];
            const std::string name = reg.number < 0 ? std::string(reg.name) : fmt::format("{}{}", reg.name, reg.number);
            report(Code::operand_type, at, fmt::format("'{}' is .{}, which does not fit operand {} of '{}'", name, to_string(type), index + 1, form.text));
        } else if (letter == 'a') {
            report(Code::operand_type, at, fmt::format("operand {} of '{}' is an address: write it in brackets", index + 1, form.text));
        } else if (letter == 'v' && detail.value_is_vector && form.vector > 1 && type != Type::none) {
            report(Code::vector_width, at, fmt::format("'{}' needs a vector of {} elements in braces", form.text, form.vector));
        }
        return;
    }
    if (operand.kind == OperandKind::vector && letter == 'v' && detail.value_is_vector) {
        if (static_cast<unsigned>(operand.value) != form.vector)
            report(Code::vector_width, at, fmt::format("'{}' moves {} element{}, the braces hold {}", form.text, form.vector, form.vector == 1 ? "" : "s", operand.value));
        else check_vector(form, operand, allowed, at);
        return;
    }
    if (operand.kind == OperandKind::address_immediate && letter == 'a' && (form.opcode == Opcode::ld || form.opcode == Opcode::st) && form.space != Space::local)
        report(Code::immediate_address, at, "an immediate address is allowed in .local only");
}

void Parser::check_vector(const Form& form, const Operand& operand, std::uint64_t allowed, Position at) {
    const auto& registers = function().registers;
    for (const Operand& child : module().children_of(operand)) {
        if (child.kind != OperandKind::reg || child.selector != 0) continue;
        const Register& reg = registers[child.index];
        if (reg.vector > 1 || (allowed >> static_cast<unsigned>(reg.type) & 1) != 0 || allowed == 0) continue;
        const std::string name = reg.number < 0 ? std::string(reg.name) : fmt::format("{}{}", reg.name, reg.number);
        report(Code::operand_type, at, fmt::format("'{}' is .{}, which does not fit the vector of '{}'", name, to_string(reg.type), form.text));
        return;
    }
}

/// Counts a shared variable once for the function that names it.
void Parser::note_shared(std::uint32_t id) {
    if (shared_used_by_.size() <= id) shared_used_by_.resize(module().symbols.size());
    if (shared_used_by_[id] == function_ + 1) return;
    shared_used_by_[id] = function_ + 1;
    const Symbol& symbol = module().symbols[id];
    const std::uint64_t alignment = symbol.alignment != 0 ? symbol.alignment : 1;
    shared_bytes_ = (shared_bytes_ + alignment - 1) / alignment * alignment + std::min<std::uint64_t>(symbol.byte_size.value_or(0), std::uint64_t{1} << 40);
}

/// Static shared memory ends at 48 KiB whatever the GPU (CUDA Programming Guide, compute capabilities; what ptxas says).
void Parser::check_shared() {
    const Function& f = function();
    if (!f.is_entry || shared_bytes_ <= 49152) return;
    report(Code::static_shared, {f.name.data(), f.line}, fmt::format("kernel '{}' uses {} bytes of static shared memory; 49152 is the most", f.name, shared_bytes_),
           "declare it .extern .shared x[] and give the size at launch, up to the GPU's opt-in limit");
}

/// A direct call: as many arguments and results as the function has.
void Parser::check_call(const Instruction&, Position at) {
    const Module& m = module();
    std::size_t i = 0;
    const Operand* results = nullptr;
    if (i < operands_.size() && operands_[i].kind == OperandKind::list) results = &operands_[i++];
    if (i >= operands_.size() || operands_[i].kind != OperandKind::symbol) return;
    const Symbol& symbol = m.symbol(operands_[i++].symbol());
    if (symbol.kind != Symbol::Kind::function) {
        report(Code::call_mismatch, at, fmt::format("'{}' is no function", symbol.name));
        return;
    }
    const Function& callee = m.functions[symbol.index];
    const std::size_t arguments = i < operands_.size() && operands_[i].kind == OperandKind::list ? static_cast<std::size_t>(operands_[i].value) : 0;
    const std::size_t returned = results != nullptr ? static_cast<std::size_t>(results->value) : 0;
    if (returned != callee.returns.size())
        report(Code::call_mismatch, at, fmt::format("'{}' returns {} value(s), the call takes {}", callee.name, callee.returns.size(), returned));
    else if (arguments < callee.parameters.size())
        report(Code::call_mismatch, at, fmt::format("'{}' has {} parameter(s), the call gives {}", callee.name, callee.parameters.size(), arguments));
}

/// The grouped warnings about opcodes that are not in the table: one an opcode.
void Parser::report_form_uses() {
    Module& m = module();
    struct Group {
        std::string_view name;
        std::uint32_t uses{}, first{};
    };
    std::vector<Group> groups;
    for (std::uint32_t i = 0; i < m.forms.size(); ++i) {
        if (m.forms[i].opcode != Opcode::unknown) continue;
        const std::string_view text = m.forms[i].text;
        const std::string_view name = text.substr(0, text.find_first_of(". \t\r\n"));
        auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.name == name; });
        if (group == groups.end()) {
            if (groups.size() >= 256) continue;
            group = groups.insert(groups.end(), {name, 0, i});
        }
        group->uses += forms_.detail(i).uses;
    }
    for (const Group& group : groups) {
        const FormDetail& detail = forms_.detail(group.first);
        const std::string_view close = closest_opcode(m.forms[group.first].text);
        report(Code::unknown_opcode, {begin_ + detail.first_offset, detail.first_line},
               fmt::format("'{}' is not an instruction this version knows; {} use{} counted as unknown", m.forms[group.first].text, group.uses, group.uses == 1 ? " is" : "s are"),
               close.empty() ? std::string() : fmt::format("did you mean '{}'?{}", close, group.name != close && !group.name.empty() && group.name[0] < 'a' ? " PTX is case sensitive" : ""));
    }
}

}  // namespace flipflop::ptx::detail
