// Calls, declarations and aliases against the functions that they name (PTX ISA 7.1, 9.7.12.5, 5.4.8): as many values, of the
// same size and alignment.
#include <algorithm>

#include <fmt/format.h>

#include "parser.hpp"

namespace flipflop::ptx::detail {
namespace {

/// Are these two what one call can hand over: scalars of one size, or arrays of the same bytes and alignment?
bool same_shape(const Symbol& a, const Symbol& b) {
    if (a.type == Type::other || b.type == Type::other) return true;
    if (a.dimensions.empty() != b.dimensions.empty()) return false;
    return a.byte_size == b.byte_size && (a.dimensions.empty() || a.alignment == b.alignment);
}

std::string shape_text(const Symbol& s) {
    if (s.dimensions.empty()) return fmt::format(".{}", to_string(s.type));
    return fmt::format(".align {} .{}[{}]", s.alignment, to_string(s.type), fmt::join(s.dimensions, "]["));
}

/// Parameters of a prototype's text between these two places: none, or one more than there are commas.
std::size_t count_parameters(std::string_view list) {
    if (list.find_first_not_of(" \t\r\n") == std::string_view::npos) return 0;
    return static_cast<std::size_t>(std::count(list.begin(), list.end(), ',')) + 1;
}

struct Counts { std::size_t returns{}, parameters{}; };

/// "(.param .b32 r) _ (.param .b64 a)" has one of each. Nothing for a text with attributes or an ellipsis.
std::optional<Counts> count_prototype(std::string_view text) {
    if (text.find(".attribute") != std::string_view::npos || text.find("...") != std::string_view::npos || text.find('/') != std::string_view::npos) return std::nullopt;
    Counts counts;
    const std::size_t name = text.find('_');
    const auto group = [&](std::size_t from, std::size_t to) -> std::size_t {
        const std::size_t open = text.find('(', from), close = open == std::string_view::npos ? open : text.find(')', open);
        return close == std::string_view::npos || open >= to ? 0 : count_parameters(text.substr(open + 1, close - open - 1));
    };
    if (!text.empty() && text[0] == '(') {
        const std::size_t close = text.find(')');
        if (close == std::string_view::npos) return std::nullopt;
        counts.returns = group(0, close);
        counts.parameters = group(close + 1, text.size());
    } else {
        if (name == std::string_view::npos) return std::nullopt;
        counts.parameters = group(name, text.size());
    }
    return counts;
}

}  // namespace

/// As many arguments and results as the function has, and of their sizes.
void Parser::check_call(Position at) {
    const Module& m = module();
    std::size_t i = 0;
    const Operand* results = nullptr;
    if (i < operands_.size() && operands_[i].kind == OperandKind::list) results = &operands_[i++];
    if (i < operands_.size() && operands_[i].kind == OperandKind::reg) return check_indirect_call(results, i, at);
    if (i >= operands_.size() || operands_[i].kind != OperandKind::symbol) return;
    const Symbol& symbol = m.symbol(operands_[i++].symbol());
    if (symbol.kind != Symbol::Kind::function) {
        report(Code::call_mismatch, at, fmt::format("'{}' is no function", symbol.name));
        return;
    }
    const Function& callee = m.functions[symbol.index];
    if (callee.is_entry) return report(Code::call_mismatch, at, fmt::format("'{}' is a kernel; only a .func can be called", callee.name));
    const Operand* const arguments = i < operands_.size() && operands_[i].kind == OperandKind::list ? &operands_[i] : nullptr;
    const std::size_t given = arguments != nullptr ? static_cast<std::size_t>(arguments->value) : 0;
    const std::size_t returned = results != nullptr ? static_cast<std::size_t>(results->value) : 0;
    if (returned != callee.returns.size())
        report(Code::call_mismatch, at, fmt::format("'{}' returns {} value(s), the call takes {}", callee.name, callee.returns.size(), returned));
    else if (given < callee.parameters.size() || (given > callee.parameters.size() && !callee.is_variadic))
        report(Code::call_mismatch, at, fmt::format("'{}' has {} parameter(s), the call gives {}", callee.name, callee.parameters.size(), given));
    else {
        check_arguments(callee, results, callee.returns, at);
        check_arguments(callee, arguments, callee.parameters, at);
    }
}

/// call (r), %rd1, (a), prototype;
void Parser::check_indirect_call(const Operand* results, std::size_t target, Position at) {
    const Module& m = module();
    const Operand* const arguments = target + 1 < operands_.size() && operands_[target + 1].kind == OperandKind::list ? &operands_[target + 1] : nullptr;
    const std::size_t last = target + 1 + (arguments != nullptr ? 1 : 0);
    if (last >= operands_.size())
        return report(Code::call_mismatch, at, "a call through a register names the functions or the prototype behind its arguments",
                      "P: .callprototype _ (.param .b32 x);  or  T: .calltargets f, g;");
    if (operands_[last].kind != OperandKind::name || operands_[last].index == kNoIndex) return;
    const Symbol& symbol = m.symbol(operands_[last].symbol());
    if (symbol.kind != Symbol::Kind::prototype) return;
    const auto counts = count_prototype(m.prototypes[symbol.index]);
    if (!counts) return;
    const std::size_t given = arguments != nullptr ? static_cast<std::size_t>(arguments->value) : 0;
    const std::size_t returned = results != nullptr ? static_cast<std::size_t>(results->value) : 0;
    if (counts->returns != returned)
        report(Code::call_mismatch, at, fmt::format("the prototype '{}' returns {} value(s), the call takes {}", symbol.name, counts->returns, returned));
    else if (counts->parameters != given)
        report(Code::call_mismatch, at, fmt::format("the prototype '{}' has {} parameter(s), the call gives {}", symbol.name, counts->parameters, given));
}

/// Variables and registers against the parameters that they are handed to; of constants nothing is asked.
void Parser::check_arguments(const Function& callee, const Operand* arguments, const std::vector<SymbolId>& formals, Position at) {
    if (arguments == nullptr) return;
    const Module& m = module();
    const auto given = m.children_of(*arguments);
    for (std::size_t i = 0; i < formals.size() && i < given.size(); ++i) {
        const Symbol& formal = m.symbol(formals[i]);
        const auto complain = [&](std::string_view name, const std::string& what) {
            report(Code::call_mismatch, at, fmt::format("'{}' is {}, '{}' of '{}' is {}", name, what, formal.name, callee.name, shape_text(formal)));
        };
        if (given[i].kind == OperandKind::symbol && given[i].value == 0) {
            const Symbol& actual = m.symbol(given[i].symbol());
            if (actual.space == Space::param && !same_shape(actual, formal)) return complain(actual.name, shape_text(actual));
        } else if (given[i].kind == OperandKind::reg && given[i].selector == 0) {
            const Register& actual = function().registers[given[i].index];
            const unsigned bits = bits_of(actual.type) * actual.vector;
            if (bits != 0 && formal.dimensions.empty() && formal.byte_size && *formal.byte_size != 0 && (bits + 7) / 8 != *formal.byte_size)
                return complain(actual.number < 0 ? std::string(actual.name) : fmt::format("{}{}", actual.name, actual.number), fmt::format(".{}", to_string(actual.type)));
        }
    }
}

/// A function that was declared before: its parameters must be the same again. False where they are not.
bool Parser::check_redeclared(const Function& before, const std::vector<SymbolId>& returns, const std::vector<SymbolId>& parameters, Position at) {
    const Module& m = module();
    const auto same = [&](const std::vector<SymbolId>& a, const std::vector<SymbolId>& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](SymbolId x, SymbolId y) { return same_shape(m.symbol(x), m.symbol(y)); });
    };
    if (same(before.returns, returns) && same(before.parameters, parameters)) return true;
    report(Code::signature_differs, at, fmt::format("'{}' was declared with other parameters", before.name));
    return false;
}

/// .alias new, existing; (PTX ISA 5.4.8): both .func, the first declared and not defined, with the same parameters.
void Parser::check_alias(SymbolId alias, SymbolId target, Position at) {
    const Module& m = module();
    for (const SymbolId id : {alias, target}) {
        const Symbol& symbol = m.symbol(id);
        if (symbol.kind != Symbol::Kind::function || m.functions[symbol.index].is_entry)
            return report(Code::signature_differs, at, fmt::format("'{}' is no .func: only those have aliases", symbol.name));
    }
    const Function &a = m.functions[m.symbol(alias).index], &b = m.functions[m.symbol(target).index];
    if (a.has_body) return report(Code::redeclared_name, at, fmt::format("'{}' has a body and cannot be an alias", a.name));
    check_redeclared(a, b.returns, b.parameters, at);
}

}  // namespace flipflop::ptx::detail
