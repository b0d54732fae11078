#include "form_table.hpp"

#include "opcode_info.hpp"

namespace flipflop::ptx::detail {
namespace {

std::uint64_t mask_for(char letter, const Form& form) {
    const auto bit = [](Type t) { return std::uint64_t{1} << static_cast<unsigned>(t); };
    const Type second = form.type2 != Type::none ? form.type2 : form.type;
    switch (letter) {
        case 'd': return registers_for(form.type, false, false);
        case 'D': return registers_for(form.type, false, form.wide);
        case 'm': return form.type2 == Type::none ? registers_for(form.type, false, false) : 0;
        case 's': return registers_for(second, false, false);
        case 'l': case 'v': return registers_for(form.type, true, false);
        case 'L': return registers_for(second, true, false);
        case 'p': return bit(Type::pred);
        case 'i': return bit(Type::b32) | bit(Type::u32) | bit(Type::s32);
        default: return 0;
    }
}

FormDetail::Constants constants_for(char letter, const Form& form) {
    using Constants = FormDetail::Constants;
    Type type = form.type;
    if (letter == 's') type = form.type2 != Type::none ? form.type2 : form.type;
    else if (letter == 'm' && form.type2 != Type::none) return Constants::any;
    else if (letter == 'i') return Constants::integers;
    else if (letter != 'd' && letter != 'm' && letter != 'D' && letter != 'v') return Constants::any;
    if (type == Type::f32 || type == Type::f64) return Constants::floats;
    return (type >= Type::u8 && type <= Type::s64) ? Constants::integers : Constants::any;
}

FormDetail detail_of(const Form& form) {
    FormDetail detail;
    detail.is_call = form.opcode == Opcode::call;
    detail.is_branch = form.opcode == Opcode::bra;
    detail.may_name_label = detail.is_call || detail.is_branch || form.opcode == Opcode::brx_idx;
    const std::string_view letters = form.opcode == Opcode::unknown ? std::string_view("*") : info(form.opcode).operands;
    bool optional = false;
    for (char letter : letters) {
        if (letter == '*') {
            detail.open_ended = true;
            break;
        }
        if (letter == '?') {
            optional = true;
            continue;
        }
        if (detail.checked == FormDetail::kMaxOperands) break;
        detail.letters[detail.checked] = letter;
        detail.allowed[detail.checked] = mask_for(letter, form);
        detail.constants[detail.checked] = constants_for(letter, form);
        ++detail.checked;
        if (!optional) detail.least = detail.checked;
    }
    detail.writes_register = form.results != 0;
    switch (form.opcode) {
        case Opcode::ld: case Opcode::ldu: case Opcode::st: case Opcode::atom: case Opcode::red:
            detail.names_space = form.space != Space::generic && form.space != Space::none;
            break;
        default: break;
    }
    detail.may_negate = form.opcode == Opcode::vmad || form.opcode == Opcode::unknown;
    switch (form.opcode) {
        case Opcode::atom: case Opcode::bar: case Opcode::bar_arrive: case Opcode::bar_red: case Opcode::barrier: case Opcode::cp_async:
        case Opcode::ldmatrix: case Opcode::stmatrix: case Opcode::mma: case Opcode::mov: case Opcode::setmaxnreg: case Opcode::st:
        case Opcode::lop3: case Opcode::pmevent: case Opcode::tex: case Opcode::tld4: case Opcode::suld: case Opcode::sust:
            detail.checks_values = true;
            break;
        default: break;
    }
    detail.value_is_vector = form.opcode == Opcode::ld || form.opcode == Opcode::st || form.opcode == Opcode::ldu;
    detail.needs_check = detail.is_call || (detail.checks_values && form.opcode != Opcode::mov);   // of mov: symbols and vectors
    for (std::size_t i = 0; i < detail.checked; ++i) {
        constexpr std::uint64_t kUntyped = std::uint64_t{1} << static_cast<unsigned>(Type::none);
        if (detail.letters[i] == 'a') continue;   // an address stands in brackets
        if (detail.letters[i] == 'v' && detail.value_is_vector && form.vector > 1) detail.plain[i] = kUntyped;
        else detail.plain[i] = detail.allowed[i] == 0 ? ~std::uint64_t{0} : detail.allowed[i] | kUntyped;
    }
    return detail;
}

}  // namespace

FormTable::FormTable() : slots_(256) {}

void FormTable::clear() {
    slots_.assign(256, Slot{});
    details_.clear();
    hashes_.clear();
}

void FormTable::place(std::uint64_t hash, std::uint32_t form, std::size_t length) {
    std::size_t i = hash & (slots_.size() - 1);
    while (slots_[i].form != kFree) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = {hash, form, static_cast<std::uint32_t>(length)};
}

std::uint32_t FormTable::add(std::string_view text, std::uint64_t hash, std::vector<Form>& forms) {
    if ((details_.size() + 1) * 2 > slots_.size()) {
        slots_.assign(slots_.size() * 2, Slot{});
        for (std::uint32_t i = 0; i < hashes_.size(); ++i) place(hashes_[i], i, forms[i].text.size());
    }
    const auto id = static_cast<std::uint32_t>(forms.size());
    forms.push_back(decode_form(text));
    details_.push_back(detail_of(forms.back()));
    hashes_.push_back(hash);
    place(hash, id, text.size());
    return id;
}

}  // namespace flipflop::ptx::detail
