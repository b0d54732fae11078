// Initialisers of variables (PTX ISA 5.4.4): numbers, addresses, byte masks of addresses, nested braces.
#include <bit>

#include <fmt/format.h>

#include "parser.hpp"

namespace flipflop::ptx::detail {
namespace {

std::uint64_t bits_for(const Constant& c, Type type) {
    if (type == Type::f64) {
        if (c.kind == Constant::Kind::f64) return c.bits;
        if (c.kind == Constant::Kind::f32) return std::bit_cast<std::uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(c.bits))));
        return std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<std::int64_t>(c.bits)));
    }
    if (type == Type::f32) {
        if (c.kind == Constant::Kind::f32) return c.bits;
        if (c.kind == Constant::Kind::f64) return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(c.bits)));
        return std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int64_t>(c.bits)));
    }
    const unsigned bits = bits_of(type);
    return bits == 0 || bits >= 64 ? c.bits : c.bits & ((std::uint64_t{1} << bits) - 1);
}

}  // namespace

/// What stands after '='. Elements go to symbol.initial in memory order; a brace group that is too short is padded.
void Parser::parse_initialiser(Symbol& symbol) {
    skip_blanks();
    if (symbol.type == Type::texref || symbol.type == Type::samplerref || symbol.type == Type::surfref) {
        if (*p_ == '{') {  // { addr_mode_0 = clamp_to_edge, ... }
            const char* const begin = p_;
            skip_braces();
            symbol.sampler_state = {begin, static_cast<std::size_t>(p_ - begin)};
            return;
        }
    }
    const Position start = here();
    if (*p_ == '{' && symbol.dimensions.empty() && symbol.vector == 1) report(Code::bad_initialiser, start, fmt::format("'{}' is no array; its value stands without braces", symbol.name));
    std::uint64_t capacity = symbol.vector;
    bool bounded = true;
    for (std::uint32_t extent : symbol.dimensions) {
        if (extent == 0) bounded = false;
        else if (capacity < (std::uint64_t{1} << 40)) capacity *= extent;
    }
    // Every element costs the text at least two bytes; padding is bounded by the same figure.
    const std::uint64_t limit = static_cast<std::uint64_t>(end_ - p_) + 64;
    if (bounded && capacity > 64) symbol.initial.reserve(std::min(capacity, limit / 2));
    const std::size_t depth_wanted = symbol.dimensions.size() + (symbol.vector > 1 ? 1 : 0);
    bool complained = false;
    std::vector<std::uint64_t> closes;  // element index at which each open brace ends
    for (;;) {
        skip_blanks();
        if (*p_ == '{') {
            if (closes.size() > symbol.dimensions.size() + 1) {
                report(Code::bad_initialiser, here(), "more braces than dimensions");
                skip_braces();
            } else {
                ++p_;
                std::uint64_t span = symbol.vector;
                for (std::size_t d = closes.size() + 1; d < symbol.dimensions.size(); ++d) span = std::min(span * symbol.dimensions[d], limit);
                if (!closes.empty()) closes.push_back(symbol.initial.size() + span);
                else closes.push_back(~std::uint64_t{0});
                skip_blanks();
                if (*p_ != '}') continue;
            }
        } else {
            if (!complained && depth_wanted != 0 && closes.size() != depth_wanted) {
                complained = true;
                report(Code::bad_initialiser, here(), fmt::format("the values of '{}' stand in {} pair{} of braces, one a dimension", symbol.name, depth_wanted, depth_wanted == 1 ? "" : "s"));
            }
            if (!parse_initial_value(symbol)) return;
        }
        for (;;) {  // what may follow a value or a closed brace
            skip_blanks();
            if (closes.empty()) {
                if (bounded && symbol.initial.size() > capacity)
                    report(Code::too_many_initialisers, start, fmt::format("'{}' has {} elements, but {} initial values", symbol.name, capacity, symbol.initial.size()));
                return;
            }
            if (*p_ == ',') {
                ++p_;
                skip_blanks();
                if (*p_ == '}') continue;
                break;
            }
            if (*p_ != '}') {
                report_unexpected("',' or '}' in the initialiser");
                return;
            }
            ++p_;
            const std::uint64_t until = closes.back();
            closes.pop_back();
            if (!closes.empty() && symbol.initial.size() < until) {
                if (until > limit) {
                    report(Code::bad_initialiser, start, "the initialiser leaves too much out");
                    return;
                }
                symbol.initial.resize(until);
            }
        }
    }
}

/// A number, x, x+8, generic(x)+4, or 0xFF00(x).
bool Parser::parse_initial_value(Symbol& symbol) {
    skip_blanks();
    InitialValue value;
    const auto address = [&]() {
        skip_blanks();
        const Position at = here();
        const Name name = read_name();
        if (name.length == 0) return report_unexpected("a variable or function"), false;
        const Entry* entry = open_scopes_.empty() ? nullptr : names_.find(name.at, name.length, hash(name.text()));
        if (entry == nullptr) entry = resolve_global(name);
        if (entry == nullptr && name.text() == symbol.name) {  // its own address: it will be the next symbol
            value.address_of = static_cast<SymbolId>(module().symbols.size());
            return true;
        }
        if (entry == nullptr || entry->kind != EntryKind::symbol) {
            undeclared(name, at);
            return true;
        }
        value.address_of = static_cast<SymbolId>(entry->value);
        return true;
    };
    const auto address_or_generic = [&]() -> bool {
        if (!at_word("generic")) return address();
        p_ += 7;
        value.generic = true;
        return expect('(', "after generic") && address() && expect(')', "after generic(...");
    };
    if (is_start(*p_) && !at_word("WARP_SZ")) {
        if (!address_or_generic()) return false;
        skip_blanks();
        if (*p_ == '+') {
            ++p_;
            Constant offset;
            if (!parse_constant(offset)) return false;
            value.bits = offset.bits;
        } else if (*p_ == '-') {
            report(Code::bad_initialiser, here(), "an initialiser is an address plus a constant; addresses cannot be subtracted",
                   "PTX ISA 5.4.4 has x, x+imm, generic(x) and generic(x)+imm");
            return false;
        }
    } else {
        Constant constant;
        const Position at = here();
        if (!parse_constant(constant)) return false;
        skip_blanks();
        if (*p_ == '(') {  // the byte of an address that the mask selects
            ++p_;
            if (constant.bits == 0 || (constant.bits >> std::countr_zero(constant.bits)) != 0xff || std::countr_zero(constant.bits) % 8 != 0) {
                report(Code::bad_initialiser, at, "a mask selects one byte: 0xFF, 0xFF00, ... or 0xFF00000000000000");
                constant.bits = 0xff;
            }
            value.mask_byte = static_cast<std::uint8_t>(std::countr_zero(constant.bits) / 8);
            skip_blanks();
            if (!address_or_generic()) return false;
            skip_blanks();
            if (*p_ == '+') {
                ++p_;
                Constant offset;
                if (!parse_constant(offset)) return false;
                value.bits = offset.bits;
            }
            if (!expect(')', "after the masked address")) return false;
        } else {
            const bool floats = symbol.type == Type::f32 || symbol.type == Type::f64;
            const bool integers = symbol.type >= Type::u8 && symbol.type <= Type::s64;
            const bool is_integer = constant.kind == Constant::Kind::integer;
            if ((floats && is_integer) || (integers && !is_integer))
                report(Code::bad_initialiser, at, fmt::format("'{}' is .{}, the value {}", symbol.name, to_string(symbol.type), is_integer ? "an integer" : "a float"));
            value.bits = bits_for(constant, symbol.type);
        }
    }
    symbol.initial.push_back(value);
    return true;
}

}  // namespace flipflop::ptx::detail
