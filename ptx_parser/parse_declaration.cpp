// Variables, registers and what stands before their names (PTX ISA 5.4).
#include <array>
#include <bit>

#include <fmt/format.h>

#include "parser.hpp"
#include "words.hpp"

namespace flipflop::ptx::detail {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 62;

struct SpaceWord {
    std::string_view word;
    Space space;
};
constexpr SpaceWord kSpaceWords[] = {{"reg", Space::reg},       {"sreg", Space::reg},     {"global", Space::global}, {"shared", Space::shared},
                                     {"local", Space::local},   {"const", Space::constant}, {"param", Space::param}, {"tex", Space::texture},
                                     {"surf", Space::surface}};
constexpr std::pair<std::string_view, Linkage> kLinkages[] = {
    {"visible", Linkage::visible}, {"extern", Linkage::external}, {"weak", Linkage::weak}, {"common", Linkage::common}};

}  // namespace

/// One word of a declaration's head, already read. False after an error that was reported; `known` = false for a word
/// that is none of a declaration's.
bool Parser::parse_one_qualifier(std::string_view word, DeclarationHead& head, bool& known) {
    for (const auto& [text, linkage] : kLinkages)
        if (text == word) return head.linkage = linkage, true;
    for (const SpaceWord& s : kSpaceWords)
        if (s.word == word) {
            if (head.is_pointer) head.pointer_space = s.space;
            else head.space = s.space;
            if (*p_ == '[') {  // .const[2]: banks of PTX 1.x
                ++p_;
                Constant bank;
                return parse_number(bank) && expect(']', "after the constant bank");
            }
            // .shared::cta, .param::entry
            if (p_[0] == ':' && p_[1] == ':') {
                p_ += 2;
                read_name();
            }
            return true;
        }
    if (word == "align") {
        skip_blanks();
        const Position at = here();
        Constant value;
        if (!parse_number(value)) return false;
        if (!std::has_single_bit(value.bits) || value.bits > (1u << 30)) {
            report(Code::bad_alignment, at, fmt::format("an alignment of {} is no power of two", value.bits));
            value.bits = 1;
        }
        (head.is_pointer ? head.pointer_alignment : head.alignment) = static_cast<std::uint32_t>(value.bits);
        return true;
    }
    if (word == "ptr") {
        head.is_pointer = true;
        head.pointer_space = Space::generic;
        return true;
    }
    if (word == "attribute") return parse_attribute(head.attributes);
    if (word == "v2" || word == "v4") return head.vector = static_cast<std::uint8_t>(word[1] - '0'), true;
    if (const Type type = type_from(word); type != Type::none) return head.type = type, true;
    if (word.size() == 2 && word[0] == 'v' && is_digit(word[1])) return report(Code::bad_type, {word.data() - 1, line_}, fmt::format("PTX has no vectors of {} elements", word[1])), false;
    if (word == "b1024") return head.type = Type::other, true;
    known = false;
    // ".u2", ".f16x3": a type by its look, but PTX has none such.
    if (word.size() >= 2 && word.size() <= 5 && std::string_view("busf").find(word[0]) != std::string_view::npos && is_digit(word[1])) {
        report(Code::bad_type, {word.data() - 1, line_}, fmt::format("PTX has no type .{}", word));
        return false;
    }
    return true;
}

/// Behind .attribute: (.managed), (.unified(1, 2)).
bool Parser::parse_attribute(std::vector<std::string_view>& attributes) {
    if (!expect('(', "after .attribute")) return false;
    const char* const begin = p_;
    for (unsigned depth = 1; depth != 0; ++p_) {
        skip_blanks();
        if (at_end() || *p_ == ';' || *p_ == '{') return report_unexpected("')' of .attribute"), false;
        if (*p_ == '(') ++depth;
        if (*p_ == ')') --depth;
    }
    attributes.emplace_back(begin, static_cast<std::size_t>(p_ - 1 - begin));
    return true;
}

/// Qualifiers up to a name. False after an error.
bool Parser::parse_qualifiers(DeclarationHead& head) {
    for (;;) {
        skip_blanks();
        if (*p_ != '.') return true;
        if (p_[1] == '.' && p_[2] == '.') return true;
        const Position at = here();
        const std::string_view word = read_directive();
        bool known = true;
        if (word.empty()) return report_unexpected("a type or a state space"), false;
        if (!parse_one_qualifier(word, head, known)) return false;
        if (!known) return report(Code::unexpected_text, at, fmt::format("expected a type or a state space, found '.{}'", word)), false;
    }
}

/// The declarators after a head, up to ';'.
void Parser::parse_variables(DeclarationHead&& head) {
    if (!parse_qualifiers(head)) return recover();
    if (head.space == Space::none) {   // as ptxas: "No variable storage specified"
        report(Code::state_space, here(), "a declaration names no state space: .reg, .shared, .global, ...");
        return recover();
    }
    if (head.space == Space::reg) return parse_registers(head);
    do {
        if (!parse_variable(head)) return recover();
    } while (accept(','));
    skip_blanks();
    if (*p_ == ';') {
        ++p_;
        return;
    }
    if (at_end() || (!is_start(*p_) && *p_ != '.')) {
        report_unexpected("';' after the declaration");
        return recover();
    }
    report(Code::missing_semicolon, here(), fmt::format("expected ';' before {}", found_here()));
}

/// What ptxas says of a name, its type and where it stands.
void Parser::check_declared(const DeclarationHead& head, const Name& name, Position at) {
    const Module& m = module();
    if (name.length == 1 && (*name.at == '%' || *name.at == '_' || *name.at == '$')) report(Code::unexpected_text, at, fmt::format("'{}' alone is no name", name.text()));
    if (head.vector > 1 && head.type == Type::pred) report(Code::bad_type, at, fmt::format("'{}' is a vector of predicates, which PTX has not", name.text()));
    if (bits_of(head.type) * head.vector > 128 && head.vector > 1)
        report(Code::bad_type, at, fmt::format("a vector .v{} .{} has more than 128 bits", head.vector, to_string(head.type)));
    if (head.linkage == Linkage::common && head.space != Space::global) report(Code::state_space, at, fmt::format("'{}' is .common, which only .global variables are", name.text()));
    // PTX ISA 5.1: registers and .local variables outside functions went with the ABI (PTX 3.0, sm_20).
    const bool in_body = !open_scopes_.empty(), has_abi = m.version_major * 10 + m.version_minor >= 30 && m.target_number >= 20;
    if (!in_body && (head.space == Space::param || (has_abi && (head.space == Space::reg || head.space == Space::local))))
        report(Code::state_space, at, fmt::format("'{}' is in .{}, which stands inside functions only", name.text(), to_string(head.space)));
}

bool Parser::parse_variable(const DeclarationHead& head) {
    skip_blanks();
    const Position at = here();
    const Name name = read_name();
    if (name.length == 0) return report_unexpected("a variable's name"), false;
    if (head.type == Type::none) {
        report(Code::missing_type, at, fmt::format("'{}' is declared without a type", name.text()));
        return false;
    }
    if (head.type == Type::pred) report(Code::bad_type, at, fmt::format("'{}' is a predicate; predicates are registers", name.text()));
    check_declared(head, name, at);
    Symbol symbol;
    symbol.name = name.text();
    symbol.kind = Symbol::Kind::variable;
    symbol.space = head.space;
    symbol.type = head.type;
    symbol.vector = head.vector;
    symbol.linkage = head.linkage;
    symbol.alignment = head.alignment;
    symbol.attributes = head.attributes;
    symbol.offset = static_cast<std::uint32_t>(at.at - begin_);
    if (symbol.space == Space::texture || symbol.space == Space::surface) symbol.alignment = 8;
    std::uint64_t copies = 1;  // ".shared .b32 x<4>": parameterised variable names
    skip_blanks();
    if (*p_ == '<') {
        ++p_;
        Constant count;
        if (!parse_number(count) || !expect('>', "after the count")) return false;
        copies = count.bits;
    }
    if (!parse_dimensions(symbol)) return false;
    size_symbol(symbol);
    skip_blanks();
    if (*p_ == '=') {
        if (symbol.space != Space::global && symbol.space != Space::constant && symbol.space != Space::texture && symbol.space != Space::surface)
            report(Code::bad_initialiser, here(), fmt::format("'{}' is in .{}, where nothing is initialised", symbol.name, to_string(symbol.space)));
        else if (symbol.linkage == Linkage::external)
            report(Code::bad_initialiser, here(), fmt::format("'{}' is .extern: its value stands where it is defined", symbol.name));
        ++p_;
        parse_initialiser(symbol);
        if (!symbol.dimensions.empty() && symbol.dimensions[0] == 0 && !symbol.initial.empty()) {  // x[] = {...}
            std::uint64_t inner = symbol.vector;
            for (std::size_t i = 1; i < symbol.dimensions.size(); ++i) inner *= symbol.dimensions[i];
            if (inner != 0) symbol.dimensions[0] = static_cast<std::uint32_t>((symbol.initial.size() + inner - 1) / inner);
            size_symbol(symbol);
        }
    }
    const bool may_lack_size = symbol.linkage == Linkage::external || symbol.space == Space::param;
    if (!symbol.byte_size && !may_lack_size)
        report(Code::incomplete_type, at, fmt::format("'{}' has no size, and is not .extern", symbol.name),
               symbol.space == Space::shared ? "dynamic shared memory is declared .extern .shared" : "give every dimension a size");
    if (copies != 1) {
        report(Code::unexpected_text, at, "parameterised names are for registers only");
        return false;
    }
    const bool in_body = !open_scopes_.empty();
    if (in_body) {
        symbol.function = function_;
        symbol.scope = open_scopes_.back();
    }
    const auto id = static_cast<SymbolId>(module().symbols.size());
    module().symbols.push_back(std::move(symbol));
    if (in_body) function().variables.push_back(id);
    declare_symbol(id, name, at);
    return true;
}

bool Parser::parse_dimensions(Symbol& symbol) {
    for (;;) {
        skip_blanks();
        if (*p_ != '[') return true;
        ++p_;
        skip_blanks();
        const Position at = here();
        Constant extent;
        if (*p_ == ']') {
            if (!symbol.dimensions.empty()) report(Code::bad_array_size, at, "only the first dimension may be without a size");
        } else {
            if (!parse_constant(extent)) return false;
            if (extent.kind != Constant::Kind::integer || static_cast<std::int64_t>(extent.bits) < 0 || extent.bits > 0xffffffff) {
                report(Code::bad_array_size, at, "an array's size is a number from 1 to 4294967295");
                extent.bits = 1;
            } else if (extent.bits == 0 && symbol.space != Space::param) {
                // A written zero: as empty as []; only .extern and parameters may be so.
            }
        }
        if (!expect(']', "after the array size")) return false;
        if (symbol.dimensions.size() >= 32) {
            report(Code::bad_array_size, at, "an array of more than 32 dimensions");
            return false;
        }
        symbol.dimensions.push_back(static_cast<std::uint32_t>(extent.bits));
    }
}

void Parser::size_symbol(Symbol& symbol) {
    std::uint64_t bytes = std::uint64_t{(bits_of(symbol.type) + 7) / 8} * symbol.vector;
    if (symbol.type == Type::other) bytes = 128;
    if (symbol.alignment == 0) symbol.alignment = bytes == 0 ? 1 : static_cast<std::uint32_t>(std::bit_ceil(bytes));
    bool complete = true;
    for (std::uint32_t extent : symbol.dimensions) {
        if (extent == 0) complete = false;
        else if (bytes > kMaxBytes / extent) bytes = kMaxBytes;
        else bytes *= extent;
    }
    symbol.byte_size.reset();
    if (complete) symbol.byte_size = bytes;
}

bool Parser::declare_symbol(SymbolId id, const Name& name, Position at) {
    const bool in_function = !open_scopes_.empty();
    NameTable& table = in_function ? names_ : globals_;
    const std::uint64_t h = hash(name.text());
    if (const Entry* old = table.find(name.at, name.length, h); old != nullptr && old->depth == table.depth()) {
        const Symbol* const before = old->kind == EntryKind::symbol ? &module().symbol(static_cast<SymbolId>(old->value)) : nullptr;
        const Symbol& symbol = module().symbol(id);
        const bool again = before != nullptr && before->linkage == Linkage::external;
        const Linkage now = symbol.linkage;
        // An extern declaration may stand before or after the definition.
        if (!again && now != Linkage::external)
            report(Code::redeclared_name, at, fmt::format("'{}' is already declared in this scope", name.text()));
        else if (before != nullptr) check_same_variable(*before, symbol, at);
        if (now == Linkage::external && !again) return true;
    }
    Entry& entry = table.declare(name.text(), h);
    entry.kind = EntryKind::symbol;
    entry.value = static_cast<std::uint32_t>(id);
    if (in_function) note_single(name);
    return true;
}

/// Two declarations of one variable: of one type and size, and not .extern here and local to the module there.
void Parser::check_same_variable(const Symbol& before, const Symbol& now, Position at) {
    if (before.kind != Symbol::Kind::variable || now.kind != Symbol::Kind::variable || before.space != now.space) return;
    const bool sizes_differ = before.byte_size && now.byte_size && before.byte_size != now.byte_size;
    if (bits_of(before.type) != bits_of(now.type) || before.vector != now.vector || sizes_differ)
        report(Code::redeclared_name, at, fmt::format("'{}' is declared again with another type or size", now.name));
    else if (before.linkage == Linkage::external && now.linkage == Linkage::none)
        report(Code::redeclared_name, at, fmt::format("'{}' is .extern above, but not .visible here", now.name), "write .visible before its definition");
}

/// Notes beside the parameterised registers of a prefix that a single name such as "%r7" exists too.
void Parser::note_single(const Name& name) {
    if (!name.numbered) return;
    const std::string_view prefix = name.prefix();
    const std::uint64_t h = hash(prefix);
    Entry* found = ranges_.find(prefix.data(), prefix.size(), h);
    if (found == nullptr) {
        found = &ranges_.declare(prefix, h);
        found->kind = EntryKind::range;
        found->count = 0;
    }
    found->has_singles = true;
}

void Parser::parse_registers(const DeclarationHead& head) {
    do {
        skip_blanks();
        const Position at = here();
        const Name name = read_name();
        if (name.length == 0) {
            report_unexpected("a register's name");
            return recover();
        }
        if (head.type == Type::none) {
            report(Code::missing_type, at, fmt::format("'{}' is declared without a type", name.text()));
            return recover();
        }
        std::optional<std::uint64_t> count;
        skip_blanks();
        if (*p_ == '<') {
            ++p_;
            Constant value;
            if (!parse_number(value) || !expect('>', "after the number of registers")) return recover();
            count = value.bits;
        }
        check_declared(head, name, at);
        if (!declare_register(name, head, count, at)) return recover();
    } while (accept(','));
    skip_blanks();
    if (*p_ == ';') {
        ++p_;
    } else if (is_start(*p_) || *p_ == '.' || *p_ == '@') {
        report(Code::missing_semicolon, here(), fmt::format("expected ';' before {}", found_here()));
    } else {
        report_unexpected("';' after the declaration");
        recover();
    }
}

/// %r3 beside %r<8> in one scope: one register, declared twice.
void Parser::check_register_overlap(const Name& name, std::optional<std::uint64_t> count, Position at) {
    if (!count) {
        const std::string_view prefix = name.prefix();
        const Entry* const range = ranges_.find(prefix.data(), prefix.size(), hash(prefix));
        if (range != nullptr && range->count > name.number && range->depth == ranges_.depth())
            report(Code::redeclared_name, at, fmt::format("'{}' is already declared by {}<{}>", name.text(), prefix, range->count));
        return;
    }
    const Entry* const singles = ranges_.find(name.at, name.length, hash(name.text()));
    if (singles == nullptr || !singles->has_singles || name.length > 32) return;
    constexpr std::uint64_t kLookedAt = 256;   // time stays linear in the text
    std::array<char, 64> single{};             // hash_name reads a few bytes beyond a name
    for (std::uint64_t i = 0; i < std::min(*count, kLookedAt); ++i) {
        const char* const end = fmt::format_to(single.data(), "{}{}", name.text(), i);
        const std::string_view text(single.data(), static_cast<std::size_t>(end - single.data()));
        const Entry* const old = names_.find(text.data(), text.size(), hash_name(text.data(), text.size(), single.data() + single.size()));
        if (old == nullptr || old->kind != EntryKind::reg || old->depth != names_.depth()) continue;
        report(Code::redeclared_name, at, fmt::format("'{}' is already declared in this scope", text));
        return;
    }
}

bool Parser::declare_register(const Name& name, const DeclarationHead& head, std::optional<std::uint64_t> count, Position at) {
    const bool in_function = !open_scopes_.empty();
    const std::uint64_t number = count.value_or(1);
    // A register that is never named costs the text nothing, so that what may be declared is bounded by the text's size.
    const std::uint64_t budget = std::max<std::uint64_t>(1 << 20, text_->size());
    if (number > budget || declared_registers_ + number > budget * 4) {
        report(Code::too_many_registers, at, fmt::format("'{}<{}>' declares more registers than a text of {} bytes can use", name.text(), number, text_->size()));
        return true;
    }
    declared_registers_ += number;
    NameTable& table = !in_function ? globals_ : count ? ranges_ : names_;
    const std::uint64_t h = hash(name.text());
    bool singles = false;
    if (const Entry* old = table.find(name.at, name.length, h); old != nullptr) {
        singles = old->has_singles;
        if (old->depth == table.depth() && (!count || old->count != 0))
            report(Code::redeclared_name, at, fmt::format("'{}' is already declared in this scope", name.text()));
    }
    if (in_function && (count || name.numbered)) check_register_overlap(name, count, at);
    Entry& entry = table.declare(name.text(), h);
    entry.kind = !in_function ? EntryKind::module_register : count ? EntryKind::range : EntryKind::reg;
    entry.type = head.type;
    entry.vector = head.vector;
    entry.has_singles = singles;
    entry.count = count ? static_cast<std::uint32_t>(number) : 0;
    if (!in_function) return true;
    Function& f = function();
    const auto first = static_cast<std::uint32_t>(f.registers.size());
    entry.value = first;
    f.register_ranges.push_back({static_cast<RegId>(first), static_cast<std::uint32_t>(number), open_scopes_.back(), count.has_value()});
    Register reg;
    reg.name = name.text();
    reg.type = head.type;
    reg.vector = head.vector;
    f.registers.resize(first + number, reg);
    if (count)
        for (std::uint32_t i = 0; i < number; ++i) f.registers[first + i].number = static_cast<std::int32_t>(i);
    else
        note_single(name);
    return true;
}

}  // namespace flipflop::ptx::detail
