// Modifiers of an opcode as a set (PTX ISA 4.4, "Statements"; ptxas takes them in any order except among types).
#include <algorithm>
#include <string>

#include "form_table.hpp"
#include "opcode_info.hpp"
#include "words.hpp"

namespace flipflop::ptx {

bool Form::has(std::string_view modifier) const {
    return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

namespace detail {
namespace {

template <class T>
struct Word {
    std::string_view word;
    T value;
};

constexpr Word<Compare> kCompares[] = {
    {"eq", Compare::eq}, {"ne", Compare::ne}, {"lt", Compare::lt}, {"le", Compare::le}, {"gt", Compare::gt}, {"ge", Compare::ge},
    {"lo", Compare::lo}, {"ls", Compare::ls}, {"hi", Compare::hi}, {"hs", Compare::hs}, {"equ", Compare::equ}, {"neu", Compare::neu},
    {"ltu", Compare::ltu}, {"leu", Compare::leu}, {"gtu", Compare::gtu}, {"geu", Compare::geu}, {"num", Compare::num}, {"nan", Compare::nan}};
constexpr Word<Rounding> kRoundings[] = {
    {"rn", Rounding::rn}, {"rna", Rounding::rna}, {"rz", Rounding::rz}, {"rm", Rounding::rm}, {"rp", Rounding::rp}, {"rs", Rounding::rs},
    {"rni", Rounding::rni}, {"rzi", Rounding::rzi}, {"rmi", Rounding::rmi}, {"rpi", Rounding::rpi}};
constexpr Word<BoolOp> kBoolOps[] = {{"and", BoolOp::and_op}, {"or", BoolOp::or_op}, {"xor", BoolOp::xor_op}};
constexpr Word<Space> kSpaces[] = {
    {"global", Space::global}, {"shared", Space::shared}, {"local", Space::local}, {"const", Space::constant}, {"param", Space::param}};
constexpr Word<bool Form::*> kFlags[] = {
    {"wide", &Form::wide}, {"sat", &Form::sat}, {"satfinite", &Form::sat}, {"ftz", &Form::ftz}, {"approx", &Form::approx}, {"full", &Form::full},
    {"uni", &Form::uniform}, {"to", &Form::to}, {"cc", &Form::cc}, {"volatile", &Form::is_volatile}, {"relaxed", &Form::relaxed},
    {"acquire", &Form::acquire}, {"release", &Form::release}, {"sync", &Form::sync}, {"noinc", &Form::noinc}};
// Data types that have no enumerator of their own.
constexpr std::string_view kOtherTypes[] = {"b1024", "b4x16", "b4x16_p64", "b6x16_p32", "b6p2x16", "b8x16", "e2m1x4", "e4m3x4", "e5m2x4", "e2m3x4",
                                            "e3m2x4", "s2f6x2", "ue4m3x2", "f64x2", "u32x2", "b64x2", "b16x2", "s2", "u2", "f8", "b4", "b2"};

template <class T, std::size_t N>
const T* look_up(const Word<T> (&words)[N], std::string_view word) {
    for (const auto& entry : words)
        if (entry.word == word) return &entry.value;
    return nullptr;
}

bool compares(Opcode opcode) {
    switch (opcode) {
        case Opcode::setp: case Opcode::set: case Opcode::vset: case Opcode::vset2: case Opcode::vset4: return true;
        default: return false;
    }
}

bool addresses_memory(const OpcodeInfo& row) {
    switch (row.opcode) {
        case Opcode::ldmatrix: case Opcode::stmatrix: case Opcode::prefetch: case Opcode::applypriority: case Opcode::discard: return true;
        case Opcode::tex: case Opcode::tld4: case Opcode::suld: case Opcode::sust: case Opcode::sured: return false;
        default: return row.reads_memory || row.writes_memory;
    }
}

void add_type(Form& form, Type type) {
    if (form.type == Type::none) form.type = type;
    else if (form.type2 == Type::none) form.type2 = type;
    else if (form.type3 == Type::none) form.type3 = type;
    else if (form.type4 == Type::none) form.type4 = type;
}

void add_space(Form& form, Space space) {
    if (form.space == Space::none) form.space = space;
    else if (form.space2 == Space::none) form.space2 = space;
}

void add_modifier(Form& form, std::string_view word) {
    form.modifiers.push_back(word);
    if (const Type type = type_from(word); type != Type::none) return add_type(form, type);
    if (is_other_type(word)) return add_type(form, Type::other);
    if (const auto* flag = look_up(kFlags, word)) {
        form.*(*flag) = true;
        return;
    }
    if (word == "acq_rel") {
        form.acquire = form.release = true;
        return;
    }
    if (word == "mmio") {
        form.is_volatile = true;
        return;
    }
    const std::string_view base = word.substr(0, std::min(word.find("::"), word.find('[')));
    if (const auto* space = look_up(kSpaces, base)) return add_space(form, *space);
    if (word == "v2" || word == "v4" || word == "v8") form.vector = static_cast<std::uint8_t>(word[1] - '0');
    else if (const auto* rounding = look_up(kRoundings, word)) form.rounding = *rounding;
    else if (const auto* compare = look_up(kCompares, word); compare != nullptr && compares(form.opcode)) form.compare = *compare;
    else if (word == "lo") form.lo = true;
    else if (word == "hi") form.hi = true;
    if (const auto* op = look_up(kBoolOps, word); op != nullptr && form.bool_op == BoolOp::none) form.bool_op = *op;
}

/// The next part of an opcode text from `at` on, without the blanks and comments around it.
std::string_view next_part(std::string_view text, std::size_t& at) {
    const auto is_blank = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
    for (; at < text.size() && (text[at] == '.' || text[at] == '/' || is_blank(text[at])); ++at) {
        if (text[at] != '/') continue;
        const bool block = text.substr(at, 2) == "/*";
        at = std::min(text.find(block ? "*/" : "\n", at), text.size() - 2) + 1;
    }
    const std::size_t begin = at;
    while (at < text.size() && text[at] != '.' && text[at] != '/' && !is_blank(text[at])) ++at;
    return text.substr(begin, at - begin);
}

void set_spaces(Form& form) {
    switch (form.opcode) {
        case Opcode::tex: case Opcode::tld4: case Opcode::txq: form.space = Space::texture; return;
        case Opcode::suld: case Opcode::sust: case Opcode::sured: case Opcode::suq: form.space = Space::surface; return;
        case Opcode::cvta: case Opcode::isspacep: case Opcode::mapa: case Opcode::getctarank: return;
        default: break;
    }
    if (form.space == Space::none && addresses_memory(info(form.opcode))) form.space = Space::generic;
}

}  // namespace

bool is_other_type(std::string_view word) { return std::find(std::begin(kOtherTypes), std::end(kOtherTypes), word) != std::end(kOtherTypes); }

Form decode_form(std::string_view text) {
    Form form;
    form.text = text;
    std::string joined;  // without the blanks that may stand between parts
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view part = next_part(text, at);
        if (part.empty()) break;
        if (!joined.empty()) joined += '.';
        joined += part;
    }
    form.opcode = match_opcode(joined);
    const OpcodeInfo& row = info(form.opcode);
    auto parts = form.opcode == Opcode::unknown ? 1 : std::count(row.name.begin(), row.name.end(), '.') + 1;
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view part = next_part(text, at);
        if (part.empty()) break;
        if (parts-- > 0) {  // of the opcode itself; "tcgen05.wait::ld" is the row tcgen05.wait with a variant
            if (parts == 0 && part.find("::") != std::string_view::npos && row.name.find("::") == std::string_view::npos) add_modifier(form, part);
            continue;
        }
        add_modifier(form, part);
    }
    form.results = row.results;
    form.may_branch = row.may_branch;
    form.reads_memory = row.reads_memory;
    form.writes_memory = row.writes_memory;
    form.carry_in = form.opcode == Opcode::addc || form.opcode == Opcode::subc || form.opcode == Opcode::madc;
    form.try_form = form.opcode == Opcode::mbarrier_try_wait || form.opcode == Opcode::clusterlaunchcontrol_try_cancel;
    set_spaces(form);
    form.instruction_class = classify(form);
    return form;
}

std::uint64_t registers_for(Type type, bool wider, bool doubled) {
    if (type == Type::none || type == Type::other) return 0;
    const auto bit = [](Type t) { return std::uint64_t{1} << static_cast<unsigned>(t); };
    if (type == Type::pred) return bit(Type::pred);
    const unsigned bits = bits_of(type) * (doubled ? 2 : 1);
    const bool bits_type = type >= Type::b8 && type <= Type::b128;
    std::uint64_t mask = 0;
    for (unsigned t = static_cast<unsigned>(Type::b8); t <= static_cast<unsigned>(Type::s8x4); ++t) {
        const auto candidate = static_cast<Type>(t);
        const unsigned have = bits_of(candidate);
        if (have != bits && !(wider && have > bits)) continue;
        // PTX ISA 9.2, "Operand Type Checking": integers agree in size only; a float type wants itself or an untyped register.
        const bool untyped = candidate >= Type::b8 && candidate <= Type::b128;
        const bool same_kind = is_float(candidate) == is_float(type);
        if (!bits_type && !untyped && !same_kind) continue;
        if (is_float(type) && !bits_type && !untyped && have != bits) continue;
        mask |= bit(candidate);
    }
    // Packed values travel in untyped or unsigned registers of their size.
    if (type >= Type::f16x2 && type != Type::f32 && type != Type::f64 && bits <= 64)
        for (Type t : {Type::b16, Type::b32, Type::b64, Type::u16, Type::u32, Type::u64, Type::s16, Type::s32, Type::s64, Type::f16, Type::f32})
            if (bits_of(t) == bits || (bits < 16 && bits_of(t) == 16)) mask |= bit(t);
    return mask;
}

}  // namespace detail
}  // namespace flipflop::ptx
