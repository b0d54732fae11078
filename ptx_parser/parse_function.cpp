// .entry and .func: linkage, parameters, performance directives (PTX ISA 11.1 to 11.4), declarations and definitions.
#include <fmt/format.h>

#include "parser.hpp"

namespace flipflop::ptx::detail {

/// The function of that name: the one declared before, or a new one.
std::uint32_t Parser::function_named(const Name& name, Linkage linkage, bool is_entry, Position at) {
    Module& m = module();
    if (const Entry* entry = resolve_global(name); entry != nullptr && entry->kind == EntryKind::symbol) {
        const Symbol& symbol = m.symbol(static_cast<SymbolId>(entry->value));
        if (symbol.kind == Symbol::Kind::function) {
            Function& f = m.functions[symbol.index];
            if (linkage != Linkage::none && f.linkage != Linkage::weak) f.linkage = linkage;
            return symbol.index;
        }
        report(Code::redeclared_name, at, fmt::format("'{}' is already declared, and not as a function", name.text()));
    }
    Symbol symbol;
    symbol.name = name.text();
    symbol.kind = Symbol::Kind::function;
    symbol.linkage = linkage;
    symbol.index = static_cast<std::uint32_t>(m.functions.size());
    symbol.offset = static_cast<std::uint32_t>(at.at - begin_);
    const auto id = static_cast<SymbolId>(m.symbols.size());
    Function& f = m.functions.emplace_back();
    f.name = name.text();
    f.is_entry = is_entry;
    f.linkage = linkage;
    f.symbol = id;
    f.line = at.line;
    const std::uint32_t index = symbol.index;
    m.symbols.push_back(std::move(symbol));
    if (resolve_global(name) == nullptr) {
        Entry& entry = globals_.declare(name.text(), hash(name.text()));
        entry.kind = EntryKind::symbol;
        entry.value = static_cast<std::uint32_t>(id);
    }
    return index;
}

/// Behind ".entry" or ".func".
void Parser::parse_function(bool is_entry, DeclarationHead&& head) {
    skip_blanks();
    // Attributes may stand before the name: .func .attribute(.unified(1, 2)) (.param .b32 r) f (...)
    if (!parse_qualifiers(head)) return recover();
    // The returned values stand before the name, so they wait in a list without an owner.
    std::vector<SymbolId> returns;
    const std::uint32_t next = static_cast<std::uint32_t>(module().functions.size());
    skip_blanks();
    bool is_variadic = false;
    if (*p_ == '(' && is_entry) {
        report(Code::unexpected_text, here(), "a kernel returns nothing: its name stands behind .entry");
        return recover();
    }
    if (*p_ == '(' && !parse_parameters(returns, next, is_variadic)) return recover();
    skip_blanks();
    const Position at = here();
    const Name name = read_name();
    if (name.length == 0) {
        report_unexpected(is_entry ? "the kernel's name" : "the function's name");
        return recover();
    }
    const std::size_t known = module().functions.size();
    const std::uint32_t index = function_named(name, head.linkage, is_entry, at);
    const bool declared_before = index < known;
    std::vector<SymbolId> parameters;
    skip_blanks();
    bool complete = true;
    if (*p_ == '(') complete = parse_parameters(parameters, index, is_variadic);
    {
        Module& m = module();
        Function& f = m.functions[index];
        if (declared_before && complete && check_redeclared(f, returns, parameters, at) && f.is_entry != is_entry)
            report(Code::redeclared_name, at, fmt::format("'{}' was declared as {}", f.name, f.is_entry ? "a kernel" : "a function"));
        for (SymbolId id : returns) m.symbols[static_cast<std::uint32_t>(id)].function = index;
        f.returns = std::move(returns);
        f.parameters = std::move(parameters);
        f.is_variadic = is_variadic;
        f.attributes = std::move(head.attributes);
        if (!complete) return recover();
        if (f.has_body) {
            report(Code::redeclared_name, at, fmt::format("'{}' is defined twice", f.name));
        }
        if (f.line == 0 || !f.has_body) f.line = at.line;
        parse_performance_directives(f);
    }
    skip_blanks();
    if (*p_ == ';') {
        ++p_;
        return;
    }
    if (*p_ != '{') {
        report_unexpected("'{' of the body or ';'");
        return recover();
    }
    check_function(module().functions[index], at);
    parse_body(index);
}

bool Parser::parse_parameters(std::vector<SymbolId>& list, std::uint32_t owner, bool& is_variadic) {
    ++p_;
    skip_blanks();
    if (*p_ == ')') return ++p_, true;
    for (;;) {
        if (!parse_parameter(list, owner, is_variadic)) return false;
        skip_blanks();
        if (*p_ == ',') {
            ++p_;
            continue;
        }
        if (*p_ == ')') return ++p_, true;
        report_unexpected("',' or ')' in the parameter list");
        return false;
    }
}

bool Parser::parse_parameter(std::vector<SymbolId>& list, std::uint32_t owner, bool& is_variadic) {
    skip_blanks();
    if (p_[0] == '.' && p_[1] == '.' && p_[2] == '.') return p_ += 3, is_variadic = true;
    DeclarationHead head;
    if (!parse_qualifiers(head)) return false;
    skip_blanks();
    const Position at = here();
    const Name name = read_name();
    if (name.length == 0) return report_unexpected("a parameter"), false;
    if (head.type == Type::none || (head.space != Space::param && head.space != Space::reg)) {
        report(Code::missing_type, at, fmt::format("parameter '{}' needs .param or .reg and a type", name.text()));
        return false;
    }
    if (head.space == Space::param && (head.type == Type::pred || head.vector > 1))
        report(Code::bad_type, at, fmt::format("parameter '{}' cannot be {}: .param holds scalars and arrays of .b8 and the like", name.text(), head.vector > 1 ? "a vector" : "a predicate"));
    Symbol symbol;
    symbol.name = name.text();
    symbol.kind = Symbol::Kind::parameter;
    symbol.space = head.space;
    symbol.type = head.type;
    symbol.vector = head.vector;
    symbol.alignment = head.alignment;
    symbol.attributes = std::move(head.attributes);
    symbol.is_pointer = head.is_pointer;
    symbol.pointer_space = head.pointer_space;
    symbol.pointer_alignment = head.pointer_alignment;
    symbol.function = owner;
    symbol.index = static_cast<std::uint32_t>(list.size());
    symbol.offset = static_cast<std::uint32_t>(at.at - begin_);
    if (!parse_dimensions(symbol)) return false;
    size_symbol(symbol);
    list.push_back(static_cast<SymbolId>(module().symbols.size()));
    module().symbols.push_back(std::move(symbol));
    return true;
}

/// A number of a performance directive. Nothing where there is none; `may_be_zero` says whether 0 is one.
std::optional<std::uint32_t> Parser::parse_count(bool may_be_zero) {
    skip_blanks();
    const Position at = here();
    Constant value;
    if (!parse_constant(value)) return std::nullopt;
    const bool fits = value.kind == Constant::Kind::integer && value.bits <= 0xffffffff;
    if (!fits || (value.bits == 0 && !may_be_zero)) report(Code::bad_value, at, "a performance directive has a number from 1 to 4294967295 here");
    return fits ? std::optional(static_cast<std::uint32_t>(value.bits)) : std::nullopt;
}

bool Parser::parse_three(std::optional<std::uint32_t> (&values)[3], bool may_be_zero) {
    for (int i = 0; i < 3; ++i) {
        values[i] = parse_count(may_be_zero);
        if (!values[i]) return values[0].reset(), false;
        if (i == 2 || !accept(',')) {
            for (int j = i + 1; j < 3; ++j) values[j] = 1;
            return true;
        }
    }
    return true;
}

void Parser::parse_performance_directives(Function& f) {
    for (;;) {
        skip_blanks();
        if (*p_ != '.') return;
        const std::string_view word = peek_directive();
        if (word.empty() || word == "visible" || word == "entry" || word == "func" || word == "version") return;
        const Position at = here();
        read_directive();
        if (!parse_performance_directive(word, f)) {
            report(Code::unknown_directive, at, fmt::format("the directive .{} of '{}' is not known and is skipped", word, f.name));
            while (!at_end() && *p_ != '\n' && *p_ != '{' && *p_ != ';' && *p_ != '.') ++p_;
        }
    }
}

bool Parser::parse_performance_directive(std::string_view word, Function& f) {
    LaunchDirectives& d = f.directives;
    const Position at = here();
    if (word == "maxnreg") d.max_registers = parse_count(false);
    else if (word == "minnctapersm") d.min_blocks_per_sm = parse_count(false);
    else if (word == "maxnctapersm") parse_count(true);  // deprecated twin of minnctapersm, without effect
    else if (word == "maxntid") parse_three(d.max_threads, false);
    else if (word == "reqntid") parse_three(d.required_threads, false);
    else if (word == "reqnctapercluster") parse_three(d.required_cluster, true);  // ptxas takes 0: no size is asked for
    else if (word == "maxclusterrank") d.max_cluster_rank = parse_count(true);
    else if (word == "explicitcluster") d.explicit_cluster = true;
    else if (word == "blocksareclusters") d.blocks_are_clusters = true;
    else if (word == "noreturn") d.no_return = true;
    else if (word == "abi_preserve") d.abi_preserve = parse_count(true);
    else if (word == "abi_preserve_control") d.abi_preserve_control = parse_count(true);
    else if (word == "attribute") parse_attribute(f.attributes);
    else if (word == "pragma") {
        const std::size_t before = d.pragmas.size();
        parse_pragma(d.pragmas);
        for (std::size_t i = before; i < d.pragmas.size(); ++i) check_pragma(d.pragmas[i], false, at);
    } else return false;
    return true;
}

/// What ptxas says of a kernel's directives and parameters.
void Parser::check_function(const Function& f, Position at) {
    check_bounds(f, at);
    if (!f.is_entry) return;
    std::uint64_t bytes = 0;
    for (SymbolId id : f.parameters) {
        const Symbol& s = module().symbol(id);
        if (s.space == Space::reg) report(Code::state_space, at, fmt::format("parameter '{}' of kernel '{}' must be .param", s.name, f.name));
        const std::uint64_t alignment = s.alignment != 0 ? s.alignment : 1;
        bytes = (bytes + alignment - 1) / alignment * alignment + s.byte_size.value_or(0);
        if (bytes > 1u << 30) break;
    }
    // PTX ISA 5.1.6.1: 4352 bytes, 32764 from PTX 8.1 on and sm_70.
    const Module& m = module();
    const bool large = m.version_major * 10 + m.version_minor >= 81 && m.target_number >= 70;
    const std::uint64_t most = large ? 32764 : 4352;
    if (bytes > most)
        report(Code::parameter_space, at, fmt::format("kernel '{}' has {} bytes of parameters; {} is the most", f.name, bytes, most),
               large ? "pass a pointer to the data" : "from .version 8.1 on, 32764 bytes are allowed");
}

void Parser::check_bounds(const Function& f, Position at) {
    const LaunchDirectives& d = f.directives;
    if (d.max_threads[0] && d.required_threads[0])
        report(Code::conflicting_bounds, at, fmt::format("'{}' has .maxntid and .reqntid; only one may be given", f.name));
    if (d.required_cluster[0] && d.max_cluster_rank)
        report(Code::conflicting_bounds, at, fmt::format("'{}' has .reqnctapercluster and .maxclusterrank; only one may be given", f.name));
    if (d.min_blocks_per_sm && !d.max_threads[0] && !d.required_threads[0])
        report(Code::bounds_without_effect, at, fmt::format(".minnctapersm of '{}' has no effect without .maxntid or .reqntid", f.name));
    const Module& m = module();
    const unsigned version = m.version_major * 10 + m.version_minor;
    const auto needs = [&](bool there, std::string_view word) {
        if (there && version != 0 && version < 90) report(Code::needs_version, at, fmt::format("{} needs .version 9.0 or later", word));
        return there;
    };
    needs(d.abi_preserve || d.abi_preserve_control, ".abi_preserve");
    if (needs(d.blocks_are_clusters, ".blocksareclusters") && (!d.required_threads[0] || !d.required_cluster[0]))
        report(Code::conflicting_bounds, at, fmt::format(".blocksareclusters of '{}' needs .reqntid and .reqnctapercluster", f.name));
    if (d.no_return && (f.is_entry || !f.returns.empty()))
        report(Code::unexpected_text, at, fmt::format("'{}' cannot be .noreturn: {}", f.name, f.is_entry ? "it is a kernel" : "it returns a value"));
    const bool clusters = d.explicit_cluster || d.blocks_are_clusters || d.max_cluster_rank || d.required_cluster[0];
    if (clusters && m.target_number != 0 && m.target_number < 90)
        report(Code::needs_target, at, fmt::format("'{}' has cluster directives, which .target {} does not have", f.name, m.target), "they need .target sm_90 or later");
    for (const auto* three : {&d.max_threads, &d.required_threads}) {
        if (!(*three)[0]) continue;
        const std::uint64_t threads = std::uint64_t{(*three)[0].value_or(1)} * (*three)[1].value_or(1);
        if (threads > 1024 || threads * (*three)[2].value_or(1) > 1024)
            report(Code::too_many_threads, at, fmt::format("'{}' names a block of more than 1024 threads, which no GPU launches", f.name));
    }
}

}  // namespace flipflop::ptx::detail
