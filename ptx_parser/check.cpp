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

struct TypeRule {
    std::string_view opcode, types;
};
constexpr TypeRule kTypeRules[] = {
#define PTX_TYPES(opcode, types) {opcode, types},
#include "rules.def"
#undef PTX_TYPES
};

enum class For : std::uint8_t { all, integers, floats };
struct Requirement {
    std::string_view opcode;
    For types;
    std::string_view one_of, what;
};
constexpr Requirement kRequirements[] = {
#define PTX_REQUIRES(opcode, types, one_of, what) {opcode, For::types, one_of, what},
#include "rules.def"
#undef PTX_REQUIRES
};

struct OperationTypes {
    std::string_view opcodes, operation, types;
};
constexpr OperationTypes kOperationTypes[] = {
#define PTX_OPERATION_TYPES(opcodes, operation, types) {opcodes, operation, types},
#include "rules.def"
#undef PTX_OPERATION_TYPES
};

struct Prohibition {
    std::string_view opcodes;
    For types;
    std::string_view modifiers;
};
constexpr Prohibition kProhibitions[] = {
#define PTX_FORBIDS(opcodes, types, modifiers) {opcodes, For::types, modifiers},
#include "rules.def"
#undef PTX_FORBIDS
};

// What was tried against ptxas 13.0 holds up to its version, and the looser PTX 1.x is not held to it.
constexpr unsigned kOldestTried = 20, kNewestTried = 90;

constexpr Feature kFeatures[] = {
#define PTX_FEATURE(opcode, modifiers, ptx, sm, target, what) {opcode, modifiers, ptx, sm, TargetRule::target, what},
#include "features.def"
#undef PTX_FEATURE
};

std::vector<std::string_view> split_words(std::string_view words) {
    std::vector<std::string_view> out;
    while (!words.empty()) {
        const std::size_t end = std::min(words.find(' '), words.size());
        out.push_back(words.substr(0, end));
        words.remove_prefix(std::min(end + 1, words.size()));
    }
    return out;
}

std::string version_text(unsigned version) { return fmt::format("{}.{}", version / 10, version % 10); }

bool target_fits(const Module& m, TargetRule rule, unsigned sm) {
    if (m.target_number < sm) return false;
    if (rule == TargetRule::any) return true;
    if (rule == TargetRule::sm90a) return m.target_number == 90 && m.target_suffix == 'a';
    if (rule == TargetRule::specific_100 && m.target_number >= 120) return false;
    return m.target_suffix != 0;
}

/// Calls `visit` with each word until it says true; whether it did.
template <class Visit>
bool any_word(std::string_view words, Visit visit) {
    while (!words.empty()) {
        const std::size_t end = std::min(words.find(' '), words.size());
        if (visit(words.substr(0, end))) return true;
        words.remove_prefix(std::min(end + 1, words.size()));
    }
    return false;
}

bool has_all(const Form& form, std::string_view modifiers) {
    return !any_word(modifiers, [&](std::string_view word) { return !form.has(word); });
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
    const bool takes_type = row.operands.find_first_of("dDlv") != std::string_view::npos;
    if (form.type == Type::none && takes_type) {
        report(Code::missing_type, at, fmt::format("'{}' names no type", form.text));
        return;
    }
    if (version >= kOldestTried && version <= kNewestTried) check_rules(form, at);
    const bool warp_wide = form.opcode == Opcode::shfl || form.opcode == Opcode::vote;
    if (warp_wide && !form.sync && version >= 64 && m.target_number >= 70)
        report(Code::needs_sync, at, fmt::format("'{}' without .sync is not supported on .target {} from PTX 6.4 on", row.name, m.target),
               fmt::format("write {}.sync and give the mask of participating lanes", row.name));
}

/// What a form's types and modifiers must be (rules.def).
void Parser::check_rules(const Form& form, Position at) {
    const std::string_view name = info(form.opcode).name;
    const auto is_name = [&](std::string_view word) { return word == name; };
    const auto is_type = [&](std::string_view word) { return word == to_string(form.type); };
    const auto applies = [&](For types) { return types == For::all || is_float(form.type) == (types == For::floats); };
    const std::string_view type = form.type == Type::other ? std::string_view("this type") : to_string(form.type);
    for (const TypeRule& rule : kTypeRules)
        if (rule.opcode == name && form.type != Type::none && !any_word(rule.types, is_type))
            report(Code::wrong_type, at, fmt::format("'{}' does not exist for .{}", name, type), fmt::format("it takes .{}", fmt::join(split_words(rule.types), ", .")));
    for (const OperationTypes& rule : kOperationTypes)
        if (any_word(rule.opcodes, is_name) && form.has(rule.operation) && !any_word(rule.types, is_type))
            report(Code::wrong_type, at, fmt::format("'{}.{}' does not exist for .{}", name, rule.operation, type),
                   fmt::format("it takes .{}", fmt::join(split_words(rule.types), ", .")));
    for (const Requirement& need : kRequirements)
        if (need.opcode == name && applies(need.types) && !any_word(need.one_of, [&](std::string_view word) { return form.has(word); }))
            report(Code::missing_modifier, at, fmt::format("'{}' needs {}", form.text, need.what));
    for (const Prohibition& rule : kProhibitions) {
        if (!any_word(rule.opcodes, is_name) || !applies(rule.types)) continue;
        any_word(rule.modifiers, [&](std::string_view word) {
            if (!form.has(word)) return false;
            report(Code::bad_modifier, at, fmt::format("'{}' takes no .{}{}", name, word, rule.types == For::all ? std::string() : fmt::format(" for .{}", type)));
            return true;
        });
    }
    check_comparison(form, at);
    check_conversion(form, at);
}

/// What modifiers and types must be to each other, where a list of words does not say it.
void Parser::check_comparison(const Form& form, Position at) {
    const std::string_view name = info(form.opcode).name;
    const bool add = form.opcode == Opcode::add_ || form.opcode == Opcode::sub_;
    if (add && form.sat && !is_float(form.type) && form.type != Type::s32)
        report(Code::bad_modifier, at, fmt::format("'{}' takes no .sat for .{}", name, to_string(form.type)), "of the integers, .s32 alone saturates");
    if ((form.opcode == Opcode::ld || form.opcode == Opcode::st) && (form.relaxed || form.acquire || form.release) &&
        !any_word("cta cluster gpu sys", [&](std::string_view word) { return form.has(word); }))
        report(Code::missing_modifier, at, fmt::format("'{}' needs a scope such as .gpu", form.text));
    if (form.opcode == Opcode::ld && form.has("nc") && form.space != Space::global) report(Code::bad_modifier, at, "'ld' takes .nc for .global alone");
    if (form.opcode != Opcode::setp && form.opcode != Opcode::set) return;
    // PTX ISA 9.7.6: lo, ls, hi, hs compare unsigned integers, equ to nan floats, and bits are equal or not.
    const Type compared = form.opcode == Opcode::setp ? form.type : form.type2;
    const bool is_unsigned = compared >= Type::u8 && compared <= Type::u64, bits = compared >= Type::b8 && compared <= Type::b128;
    bool fits = true;
    if (form.compare >= Compare::lo && form.compare <= Compare::hs) fits = is_unsigned;
    else if (form.compare >= Compare::equ) fits = is_float(compared);
    else if (form.compare >= Compare::lt) fits = !bits;
    if (!fits && compared != Type::none) report(Code::wrong_type, at, fmt::format("'{}' compares in a way that .{} does not have", form.text, to_string(compared)));
}

/// PTX ISA 9.7.9 (cvt): a rounding is needed between integers and floats, and to a narrower float.
void Parser::check_conversion(const Form& form, Position at) {
    if (form.opcode != Opcode::cvt || form.rounding != Rounding::none) return;
    const bool to_float = is_float(form.type), from_float = is_float(form.type2);
    if (form.type2 == Type::none) report(Code::missing_type, at, fmt::format("'{}' names one type, but converts between two", form.text));
    else if (form.type3 == Type::none && (to_float != from_float || (to_float && bits_of(form.type) < bits_of(form.type2))))
        report(Code::missing_modifier, at, fmt::format("'{}' needs a rounding such as {}", form.text, to_float ? ".rn" : ".rzi"));
}

/// Special registers of clusters (PTX ISA 10: PTX 7.8, sm_90).
void Parser::check_special(Special special, std::string_view name, Position at) {
    const bool of_cluster = special >= Special::is_explicit_cluster && special <= Special::cluster_nctarank;
    const Module& m = module();
    if (!of_cluster || (reported_specials_ >> static_cast<unsigned>(special) & 1) != 0) return;
    const unsigned version = m.version_major * 10 + m.version_minor;
    if ((version == 0 || version >= 78) && (m.target_number == 0 || m.target_number >= 90)) return;
    reported_specials_ |= std::uint64_t{1} << static_cast<unsigned>(special);
    const bool old = version != 0 && version < 78;
    report(old ? Code::needs_version : Code::needs_target, at, old ? fmt::format("'{}' needs .version 7.8 or later", name) : fmt::format("'{}' is not supported on .target {}", name, m.target),
           "it needs .target sm_90 or later");
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

/// Constant variables of a module share one bank of 64 KiB (PTX ISA 5.1.3; what ptxas says).
void Parser::check_constants() {
    std::uint64_t bytes = 0;
    for (const Symbol& symbol : module().symbols)
        if (symbol.space == Space::constant && symbol.kind == Symbol::Kind::variable && symbol.linkage != Linkage::external)
            bytes += std::min<std::uint64_t>(symbol.byte_size.value_or(0), std::uint64_t{1} << 40);
    if (bytes > 65536) report(Code::constant_space, {}, fmt::format("the module has {} bytes of .const variables; 65536 is the most", bytes));
}

/// Static shared memory ends at 48 KiB whatever the GPU (CUDA Programming Guide, compute capabilities; what ptxas says).
void Parser::check_shared() {
    const Function& f = function();
    if (!f.is_entry || shared_bytes_ <= 49152) return;
    report(Code::static_shared, {f.name.data(), f.line}, fmt::format("kernel '{}' uses {} bytes of static shared memory; 49152 is the most", f.name, shared_bytes_),
           "declare it .extern .shared x[] and give the size at launch, up to the GPU's opt-in limit");
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
