// Operands (PTX ISA 6): registers, constants, addresses, vectors, lists, special registers, names.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "parser.hpp"
#include "words.hpp"

namespace flipflop::ptx::detail {
namespace {

constexpr std::size_t kMaxGroups = 8;

Operand make(OperandKind kind, std::uint32_t index = 0, std::int64_t value = 0) {
    Operand operand;
    operand.kind = kind;
    operand.index = index;
    operand.value = value;
    return operand;
}

Operand constant_operand(const Constant& c) {
    switch (c.kind) {
        case Constant::Kind::f32: return make(OperandKind::immediate_f32, 0, static_cast<std::int64_t>(c.bits));
        case Constant::Kind::f64: return make(OperandKind::immediate_f64, 0, static_cast<std::int64_t>(c.bits));
        case Constant::Kind::integer: break;
    }
    return make(OperandKind::immediate, 0, static_cast<std::int64_t>(c.bits));
}

}  // namespace

bool Parser::parse_operand(bool parentheses_are_list, bool label_first) {
    const char c = *p_;
    if (is_start(c)) return parse_identifier_operand(label_first);
    if (is_digit(c) && c != '0') {
        // The usual constant: a short decimal integer with nothing behind it.
        const char* q = p_;
        std::int64_t value = 0;
        while (is_digit(*q) && q - p_ < 18) value = value * 10 + (*q++ - '0');
        if (*q == ',' || *q == ';' || *q == '}') {
            p_ = q;
            push(make(OperandKind::immediate, 0, value), Type::none);
            return true;
        }
        return parse_constant_operand();
    }
    if (c == '0' && (p_[1] == ',' || p_[1] == ';' || p_[1] == '}')) {
        ++p_;
        push(make(OperandKind::immediate), Type::none);
        return true;
    }
    switch (c) {
        case '[': return parse_address();
        case '{': return parse_group('}', OperandKind::vector);
        case '!': return parse_negated();
        case '-': {
            const char* q = p_ + 1;
            while (*q == ' ') ++q;
            return is_start(*q) && !(q[0] == 'W' && q[1] == 'A') ? parse_negated() : parse_constant_operand();
        }
        case '(':
            if (parentheses_are_list) return parse_group(')', OperandKind::list);
            return parse_constant_operand();
        case '0': case '~': case '+': return parse_constant_operand();
        case '.':
            if (is_digit(p_[1])) return parse_constant_operand();
            break;
        default: break;
    }
    report_unexpected("an operand");
    return false;
}

bool Parser::parse_constant_operand() {
    Constant value;
    if (!parse_constant(value)) return false;
    push(constant_operand(value), Type::none);
    return true;
}

bool Parser::parse_negated() {
    const char sign = *p_++;
    skip_blanks();
    if (!is_start(*p_)) {
        --p_;
        while (*p_ != sign) --p_;
        return parse_constant_operand();
    }
    const std::size_t before = operands_.size();
    if (!parse_identifier_operand(false)) return false;
    operands_[before].negated = true;
    return true;
}

/// Of a register with `elements`: .x .y .z .w .r .g .b .a; of one without, for video instructions: .b0 to .b3, .h0, .h1, and the
/// masks and selections of the two- and four-fold ones (PTX ISA 9.7.20: .h10, .b3210). A selector of 255 has been reported.
void Parser::read_selector(Operand& operand, unsigned elements) {
    if (*p_ != '.') return;
    const std::string_view word = peek_directive();
    std::uint8_t selector = 0;
    const auto digits = [word](char most) {
        return word.size() > 1 && word.size() <= 5 && std::all_of(word.begin() + 1, word.end(), [most](char c) { return c >= '0' && c <= most; });
    };
    if (elements > 1) {
        const std::size_t xyzw = word.size() == 1 ? std::string_view("xyzw").find(word[0]) : std::string_view::npos;
        const std::size_t rgba = word.size() == 1 ? std::string_view("rgba").find(word[0]) : std::string_view::npos;
        const std::size_t element = std::min(xyzw, rgba);
        if (element < 4) selector = static_cast<std::uint8_t>(1 + element);   // ptxas takes .z of a .v2 too
    } else if (word.size() == 2 && word[0] == 'b' && digits('3')) {
        selector = static_cast<std::uint8_t>(5 + word[1] - '0');
    } else if (word.size() == 2 && word[0] == 'h' && digits('1')) {
        selector = static_cast<std::uint8_t>(9 + word[1] - '0');
    } else if ((word.size() == 3 && word[0] == 'h' && digits('3')) || (word.size() > 2 && word[0] == 'b' && digits('7'))) {
        selector = word[0] == 'h' ? 11 : 12;
        operand.value = 1;
        for (char c : word.substr(1)) operand.value = operand.value * 16 + (c - '0');
    }
    if (selector == 0) {
        if (elements > 1) report(Code::unexpected_text, here(), fmt::format("'.{}' selects nothing of a vector", word), "elements are .x .y .z .w");
        else report(Code::unexpected_text, here(), fmt::format("'.{}' selects nothing", word), "selectors are .b0 to .b3, .h0, .h1 and masks such as .b3210; elements (.x) are those of vectors");
        selector = 255;
    }
    operand.selector = selector;
    p_ += word.size() + 1;
}

bool Parser::parse_identifier_operand(bool label_first) {
    const Position at = here();
    const Name name = read_name();
    RegId reg = RegId::none;
    if (name.length == 1 && *name.at == '_') {
        push(make(OperandKind::discard), Type::none);
        return true;
    }
    if (label_first) {
        pending_label(name, at, true);
        return true;
    }
    const Entry* entry = resolve_local(name, reg);
    if (entry != nullptr && reg != RegId::none) {
        Operand operand = make(OperandKind::reg, static_cast<std::uint32_t>(reg));
        Type type = entry->type;
        if (entry->vector > 1) type = Type::none;
        if (*p_ == '.') {
            const bool whole = entry->vector > 1;
            read_selector(operand, entry->vector);
            if (operand.selector == 255) return operands_.push_back(operand), types_.push_back(Type::none), true;
            type = whole && operand.selector <= 4 ? function().registers[static_cast<std::uint32_t>(reg)].type : Type::none;
        }
        push(operand, type);
        return true;
    }
    if (entry == nullptr) {
        entry = resolve_global(name);
        if (entry != nullptr && entry->kind == EntryKind::module_register) {
            const Type type = entry->type;
            push(make(OperandKind::reg, static_cast<std::uint32_t>(use_module_register(name, *entry))), type);
            return true;
        }
    }
    if (entry == nullptr) {
        Operand operand;
        if (special_operand(name, operand)) {
            if (operand.kind == OperandKind::special) check_special(static_cast<Special>(operand.index), name.text(), at);
            push(operand, Type::none);
            return true;
        }
        if (name.text() == "WARP_SZ") {
            p_ = at.at;
            return parse_constant_operand();
        }
        pending_label(name, at, false);
        return true;
    }
    if (entry->kind == EntryKind::poisoned) {
        push(make(OperandKind::name, kNoIndex), Type::none);
        return true;
    }
    // A symbol: its address, sym+offset, sym[index], or the name of a table, prototype or function.
    const Symbol& symbol = module().symbol(static_cast<SymbolId>(entry->value));
    if (symbol.space == Space::shared) note_shared(entry->value);
    const bool is_name = symbol.kind == Symbol::Kind::label_table || symbol.kind == Symbol::Kind::prototype;
    Operand operand = make(is_name ? OperandKind::name : OperandKind::symbol, entry->value);
    const std::int64_t element = std::int64_t{(bits_of(symbol.type) + 7) / 8} * symbol.vector;
    skip_blanks();
    if (*p_ == '+') {
        if (!parse_offset(operand.value)) return false;
    } else if (*p_ == '[') {  // array element (PTX ISA 6.4.2): an address
        ++p_;
        Constant index;
        if (!parse_constant(index) || !expect(']', "after the array index")) return false;
        operand.kind = OperandKind::address_symbol;
        operand.value = static_cast<std::int64_t>(index.bits * static_cast<std::uint64_t>(element));
    }
    push(operand, Type::none);
    return true;
}

/// A name that is nothing yet: a label, or a table or prototype that stands further down.
void Parser::pending_label(const Name& name, Position at, bool must_be_label) {
    const std::size_t position = operands_.size();
    push(make(OperandKind::name, kNoIndex), Type::none);
    if (nesting_ != 0 || !may_name_label_) {
        undeclared(name, at);
        if (*p_ == '.' && *name.at == '%') p_ += peek_directive().size() + 1;   // %tix.x: one mistake, one message
        return;
    }
    PendingLabel pending;
    pending.name = name;
    pending.hash = hash(name.text());
    pending.operand = static_cast<std::uint32_t>(position);
    pending.table = kNoIndex;
    pending.table_index = 1;
    pending.scope = open_scopes_.back();
    pending.line = at.line;
    pending.must_be_label = must_be_label;
    pending_.push_back(pending);
}

/// "+4", "+ -4", "+(1 << 2)", and the "-4" that PTX does not have.
bool Parser::parse_offset(std::int64_t& value) {
    skip_blanks();
    const Position at = here();
    if (*p_ == '-') {
        report(Code::bad_offset, at, "an offset is added: '-' is not allowed here", "write [reg+-4]");
        Constant ignored;
        if (!parse_constant(ignored)) return false;
        value = static_cast<std::int64_t>(ignored.bits);
        return true;
    }
    ++p_;
    const char* q = p_;
    std::int64_t number = 0;
    while (is_digit(*q) && q - p_ < 18) number = number * 10 + (*q++ - '0');
    if (q > p_ && *q == ']' && (*p_ != '0' || q - p_ == 1)) {
        p_ = q;
        value = number;
        return true;
    }
    skip_blanks();
    if (is_start(*p_) && !at_word("WARP_SZ")) {
        report(Code::bad_offset, here(), fmt::format("an offset is a constant, not {}", found_here()), "add the register to the address first");
        read_name();
        return true;
    }
    Constant constant;
    if (!parse_constant(constant)) return false;
    if (constant.kind != Constant::Kind::integer) report(Code::bad_offset, at, "an offset is an integer");
    value = static_cast<std::int64_t>(constant.bits);
    return true;
}

/// What stands first inside brackets.
bool Parser::parse_address_base(Operand& operand) {
    skip_blanks();
    if (!is_start(*p_)) {
        Constant value;
        if (!parse_constant(value)) return false;
        operand = make(OperandKind::address_immediate, 0, static_cast<std::int64_t>(value.bits));
        return true;
    }
    const Position at = here();
    RegId reg = RegId::none;
    const Entry* entry = accept_plain_register(reg);
    const Name name = entry == nullptr ? read_name() : Name{at.at, static_cast<std::uint32_t>(p_ - at.at)};
    if (entry == nullptr) entry = resolve_local(name, reg);
    if (entry == nullptr) entry = resolve_global(name);
    if (reg != RegId::none) {
        operand = make(OperandKind::address_reg, static_cast<std::uint32_t>(reg));
        read_selector(operand, entry->vector);
        if (operand.selector == 11 || operand.selector == 12) {
            report(Code::unexpected_text, at, "an address is a whole register");
            operand.value = 0;
        }
        const Type type = entry->type;
        if (operand.selector == 0 && (type == Type::pred || type == Type::f32 || type == Type::f64))
            report(Code::operand_type, at, fmt::format("'{}' is .{}; an address is held in a 32- or 64-bit integer register", name.text(), to_string(type)));
    } else if (entry == nullptr) {
        Operand special;
        if (special_operand(name, special)) {
            operand = special;
        } else {
            undeclared(name, at);
            operand = make(OperandKind::name, kNoIndex);
        }
    } else if (entry->kind == EntryKind::module_register) {
        operand = make(OperandKind::address_reg, static_cast<std::uint32_t>(use_module_register(name, *entry)));
    } else if (entry->kind == EntryKind::poisoned) {
        operand = make(OperandKind::name, kNoIndex);
    } else {
        operand = make(OperandKind::address_symbol, entry->value);
        const Symbol& symbol = module().symbol(static_cast<SymbolId>(entry->value));
        if (symbol.space == Space::shared) note_shared(entry->value);
        const std::int64_t element = std::int64_t{(bits_of(symbol.type) + 7) / 8} * symbol.vector;
        skip_blanks();
        if (*p_ == '[') {
            ++p_;
            Constant index;
            if (!parse_constant(index) || !expect(']', "after the array index")) return false;
            operand.value = static_cast<std::int64_t>(index.bits * static_cast<std::uint64_t>(element));
        }
    }
    skip_blanks();
    if (*p_ != '+' && *p_ != '-') return true;
    std::int64_t offset = 0;
    if (!parse_offset(offset)) return false;
    operand.value += offset;
    return true;
}

bool Parser::parse_address() {
    ++p_;
    Operand base;
    if (!parse_address_base(base)) return false;
    skip_blanks();
    if (*p_ == ']') {
        ++p_;
        push(base, Type::none);
        return true;
    }
    if (*p_ != ',') {
        report_unexpected("']' after the address");
        return false;
    }
    // [tensor, {c0, c1}] and [texture, sampler, {x, y}]
    const std::size_t first = operands_.size();
    push(base, Type::none);
    ++nesting_;
    while (*p_ == ',') {
        ++p_;
        skip_blanks();
        if (!parse_operand(false, false)) return false;
        skip_blanks();
    }
    --nesting_;
    if (!expect(']', "after the address")) return false;
    auto& all = module().operands;
    Operand list = make(OperandKind::list, static_cast<std::uint32_t>(all.size()), static_cast<std::int64_t>(operands_.size() - first));
    all.insert(all.end(), operands_.begin() + static_cast<std::ptrdiff_t>(first), operands_.end());
    operands_.resize(first);
    types_.resize(first);
    push(list, Type::none);
    return true;
}

/// {a, b} and (a, b); the children go to the module, the group stays.
bool Parser::parse_group(char close, OperandKind kind) {
    if (nesting_ >= kMaxGroups) {
        report(Code::nested_too_deep, here(), "operands nested too deep");
        return false;
    }
    ++p_;
    const std::size_t first = operands_.size();
    ++nesting_;
    skip_blanks();
    bool good = true;
    if (*p_ != close) {
        for (;;) {
            if (!accept_plain_operand() && !parse_operand(false, false)) {
                good = false;
                break;
            }
            skip_blanks();
            if (*p_ != ',') break;
            ++p_;
            skip_blanks();
        }
    }
    --nesting_;
    if (!good) return false;
    if (*p_ != close) {
        report_unexpected(fmt::format("',' or '{}'", close));
        return false;
    }
    ++p_;
    auto& all = module().operands;
    const Operand group = make(kind, static_cast<std::uint32_t>(all.size()), static_cast<std::int64_t>(operands_.size() - first));
    all.insert(all.end(), operands_.begin() + static_cast<std::ptrdiff_t>(first), operands_.end());
    operands_.resize(first);
    types_.resize(first);
    push(group, Type::none);
    return true;
}

/// %tid.x, %laneid, %envreg3, %pm0_64, %reserved_smem_offset_begin. Operand::value: the number of envreg and pm (plus 64
/// for pm0_64), 0 and 1 for reserved_smem_offset_0 and _1, then 2 begin, 3 end, 4 cap; 4 for a whole vector such as %tid.
bool Parser::special_operand(const Name& name, Operand& operand) {
    const std::string_view text = name.text();
    if (text.empty() || text[0] != '%') return false;
    const auto found = [&](Special special, std::int64_t value) {
        operand = make(OperandKind::special, static_cast<std::uint32_t>(special), value);
        return true;
    };
    if (is_axis_special(text)) {
        if (*p_ != '.') return found(*special_from(text, 'x'), 4);
        const std::string_view component = peek_directive();
        if (component.size() != 1 || std::string_view("xyzw").find(component[0]) == std::string_view::npos) return false;
        p_ += 2;
        if (component[0] == 'w') return operand = make(OperandKind::immediate), true;  // always zero
        return found(*special_from(text, component[0]), 0);
    }
    if (const auto special = special_from(text, 0)) return found(*special, 0);
    if (name.numbered && name.prefix() == "%envreg" && name.number < 32) return found(Special::envreg, name.number);
    if (name.numbered && name.prefix() == "%pm" && name.number < 8) return found(Special::pm, name.number);
    if (text.size() == 7 && text.substr(0, 3) == "%pm" && text.substr(4) == "_64" && text[3] >= '0' && text[3] <= '7') return found(Special::pm, 64 + text[3] - '0');
    constexpr std::string_view reserved = "%reserved_smem_offset_";
    if (text.substr(0, reserved.size()) == reserved) {
        const std::string_view rest = text.substr(reserved.size());
        constexpr std::string_view kinds[] = {"0", "1", "begin", "end", "cap"};
        for (std::int64_t i = 0; i < 5; ++i)
            if (kinds[i] == rest) return found(Special::reserved_smem, i);
    }
    return false;
}

}  // namespace flipflop::ptx::detail
