// A module's top level: .version, .target, .address_size, and which declaration comes next.
#include <charconv>

#include <fmt/format.h>

#include "debug_names.hpp"
#include "parser.hpp"

namespace flipflop::ptx::detail {
namespace {

constexpr unsigned kNewestMajor = 9;

struct TargetRow {
    std::uint32_t number;
    std::uint16_t plain, a, f;  ///< PTX version (10 * major + minor) that introduced it; 0: there is none
};

// PTX ISA, "Target ISA Notes" of .target (release notes of each version).
constexpr TargetRow kTargets[] = {
    {10, 10, 0, 0}, {11, 10, 0, 0}, {12, 12, 0, 0}, {13, 12, 0, 0}, {20, 20, 0, 0}, {21, 20, 0, 0}, {30, 30, 0, 0}, {32, 40, 0, 0},
    {35, 31, 0, 0}, {37, 41, 0, 0}, {50, 40, 0, 0}, {52, 41, 0, 0}, {53, 42, 0, 0}, {60, 50, 0, 0}, {61, 50, 0, 0}, {62, 50, 0, 0},
    {70, 60, 0, 0}, {72, 61, 0, 0}, {75, 63, 0, 0}, {80, 70, 0, 0}, {86, 71, 0, 0}, {87, 74, 0, 0}, {88, 90, 0, 0}, {89, 78, 0, 0},
    {90, 78, 80, 0}, {100, 86, 86, 88}, {101, 86, 86, 88}, {103, 88, 88, 88}, {107, 94, 94, 94}, {110, 90, 90, 90}, {120, 87, 87, 88}, {121, 88, 88, 88},
};

std::uint32_t introduced(const TargetRow& row, char suffix) { return suffix == 'a' ? row.a : suffix == 'f' ? row.f : row.plain; }

}  // namespace

void Parser::start_module() {
    Module& m = result_.modules.emplace_back();
    m.name = name_;
    m.text = text_;
    m.begin_offset = static_cast<std::uint32_t>(p_ - begin_);
    module_line_ = result_.modules.size() == 1 ? 1 : line_;
    forms_.clear();
    globals_.clear();
    location_index_.clear();
    indexed_locations_ = 0;
    unknown_modifiers_.clear();
    shared_used_by_.clear();
    declared_registers_ = 0;
    reported_specials_ = 0;
    location_ = 0;
    in_module_ = true;
}

void Parser::parse_module() {
    if (!in_module_) {
        start_module();
        // Virtual memory only: pages that stay untouched cost nothing.
        if (const auto rest = static_cast<std::size_t>(end_ - p_); rest > 1 << 20) module().operands.reserve(rest / 7);
        read_directive();
        parse_version();
        skip_blanks();
    }
    while (!at_end() && parse_top_level()) {
    }
    finish_module();
}

void Parser::finish_module() {
    in_module_ = false;
    report_form_uses();
    check_constants();
    Module& m = module();
    if (m.target.empty()) report(Code::bad_target, {}, fmt::format("module {} has no .target", result_.modules.size()), "add a line such as .target sm_80");
    for (Function& f : m.functions) {
        m.instruction_count += f.instructions.size();
    }
    m.line_count = line_ - module_line_ + 1;
    m.parameter_names = parameter_names(m.sections);
    if (m.operands.size() < (1 << 17)) m.operands.shrink_to_fit();
}

/// One declaration; false at the .version of the next module.
bool Parser::parse_top_level() {
    skip_blanks();
    if (at_end()) return false;
    const Position at = here();
    if (*p_ == '@' && p_[1] == '@') {  // @@DWARF lines of PTX 1.x and 2.x
        module().has_dwarf = true;
        while (!at_end() && *p_ != '\n') ++p_;
        module().sections.push_back({{at.at, static_cast<std::size_t>(p_ - at.at)}, {}, {}});
        return true;
    }
    if (*p_ != '.') {
        if (*p_ == ';') {
            report(Code::empty_statement, at, "a ';' without a statement");
            ++p_;
        } else if (*p_ == '}') {
            report(Code::stray_brace, at, "this '}' closes nothing");
            ++p_;
        } else if (!skip_line_marker()) {
            report_unexpected("a directive such as .visible, .global or .entry");
            const char* before = p_;
            recover();
            if (p_ == before) ++p_;
        }
        return true;
    }
    const std::string_view word = peek_directive();
    if (word == "version") return false;
    if (word == "target" || word == "address_size") {
        read_directive();
        const bool late = !module().functions.empty() || !module().symbols.empty() || (word == "target" && !module().target.empty());
        if (late) report(Code::unexpected_text, at, fmt::format(".{} stands once, at the head of the module", word));
        if (word == "target") parse_target();
        else parse_address_size();
        return true;
    }
    if (word == "file") return read_directive(), parse_file(), true;
    if (word == "loc") return read_directive(), parse_loc(), true;
    if (word == "section") return read_directive(), parse_section(at.at), true;
    if (word == "pragma") {
        read_directive();
        const std::size_t before = module().pragmas.size();
        parse_pragma(module().pragmas);
        for (std::size_t i = before; i < module().pragmas.size(); ++i) check_pragma(module().pragmas[i], false, at);
        return true;
    }
    if (word == "alias") return read_directive(), parse_alias(), true;
    DeclarationHead head;
    while (*p_ == '.') {
        const std::string_view next = peek_directive();
        if (next == "func" || next == "entry") {
            read_directive();
            parse_function(next == "entry", std::move(head));
            return true;
        }
        bool known = true;
        const Position here_at = here();
        read_directive();
        if (!parse_one_qualifier(next, head, known)) return recover(), true;
        if (!known) {
            unknown_directive(next, here_at);
            return true;
        }
        skip_blanks();
    }
    if (head.space == Space::none && head.type == Type::none) {
        report_unexpected("a state space and a type");
        recover();
        return true;
    }
    parse_variables(std::move(head));
    return true;
}

/// A directive that nobody knows: skipped to its ';', its line's end, or over its braces.
void Parser::unknown_directive(std::string_view word, Position at) {
    report(Code::unknown_directive, at, fmt::format("the directive .{} is not known and is skipped", word));
    while (!at_end() && *p_ != ';' && *p_ != '\n' && *p_ != '{' && *p_ != '}') ++p_;
    if (*p_ == ';') ++p_;
    else if (*p_ == '{') skip_braces();
}

void Parser::parse_version() {
    skip_blanks();
    const Position at = here();
    Module& m = module();
    const auto major = std::from_chars(p_, end_, m.version_major);
    if (major.ec != std::errc{} || *major.ptr != '.') {
        report(Code::bad_version, at, fmt::format("expected a version such as 8.0, found {}", found_here()));
        while (!at_end() && *p_ != '\n') ++p_;
        return;
    }
    const auto minor = std::from_chars(major.ptr + 1, end_, m.version_minor);
    if (minor.ec != std::errc{}) {
        report(Code::bad_version, at, "expected a version such as 8.0");
        p_ = major.ptr + 1;
        return;
    }
    p_ = minor.ptr;
    if (m.version_major == 0 || m.version_minor > 99 || m.version_major > 999) {
        report(Code::bad_version, at, fmt::format("PTX has no version {}.{}", m.version_major, m.version_minor));
        m.version_major = m.version_minor = 0;
        return;
    }
    constexpr unsigned last_minor[] = {0, 5, 3, 2, 3, 0, 5, 8, 8};  // of PTX 1 to 8
    if (m.version_major < std::size(last_minor) && m.version_minor > last_minor[m.version_major]) {
        report(Code::bad_version, at, fmt::format("there is no PTX {}.{}; the last {}.x is {}.{}", m.version_major, m.version_minor, m.version_major, m.version_major, last_minor[m.version_major]));
        return;
    }
    // New minor versions add instructions, and those are named one by one when they are met; a new major one may change more.
    if (m.version_major > kNewestMajor)
        report(Code::unknown_version, at,
               fmt::format("PTX {}.{} is newer than the instruction table ({}.x); what is new in it counts as unknown", m.version_major, m.version_minor, kNewestMajor));
}

void Parser::parse_target() {
    Module& m = module();
    for (;;) {
        skip_blanks();
        const Position at = here();
        const Name word = read_name();
        const std::string_view text = word.text();
        const bool is_sm = text.substr(0, 3) == "sm_" || text.substr(0, 8) == "compute_";
        if (is_sm) {
            const std::string_view digits = text.substr(text.find('_') + 1);
            std::uint32_t number = 0;
            const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
            const std::string_view rest(parsed.ptr, static_cast<std::size_t>(digits.data() + digits.size() - parsed.ptr));
            if (parsed.ec != std::errc{} || number > 999 || (rest != "" && rest != "a" && rest != "f")) {
                report(Code::bad_target, at, fmt::format("'{}' is no target", text), "a target looks like sm_80 or sm_90a");
                m.target = text;   // said once
            } else {
                m.target = text;
                m.target_number = number;
                m.target_suffix = rest.empty() ? '\0' : rest[0];
                check_target_version(at);
            }
        } else if (text == "texmode_unified" || text == "texmode_independent" || text == "texmode_raw" || text == "map_f64_to_f32" || text == "debug") {
            m.target_options.push_back(text);
        } else {
            report(Code::bad_target, at, text.empty() ? fmt::format("expected a target, found {}", found_here()) : fmt::format("'{}' is no target", text),
                   "a target looks like sm_80 or sm_90a");
            while (!at_end() && *p_ != '\n' && *p_ != '.') ++p_;
            m.target = text.empty() ? std::string_view("?") : text;
            return;
        }
        if (!accept(',')) return;
    }
}

void Parser::check_target_version(Position at) {
    const Module& m = module();
    const std::uint32_t version = m.version_major * 10 + m.version_minor;
    for (const TargetRow& row : kTargets) {
        if (row.number != m.target_number) continue;
        const std::uint32_t since = introduced(row, m.target_suffix);
        if (since == 0) {
            report(Code::bad_target, at, fmt::format("there is no target {}", m.target), fmt::format("sm_{} has no variant '{}'", row.number, m.target_suffix));
        } else if (version != 0 && version < since) {
            report(Code::target_needs_version, at,
                   fmt::format("PTX {}.{} does not support .target {}", m.version_major, m.version_minor, m.target),
                   fmt::format("{} needs .version {}.{} or later", m.target, since / 10, since % 10));
        }
        return;
    }
    report(Code::unknown_target, at, fmt::format("the target {} is not known", m.target));
}

void Parser::parse_address_size() {
    skip_blanks();
    const Position at = here();
    Constant value;
    if (!parse_number(value)) return;
    if (value.bits != 32 && value.bits != 64) {
        report(Code::bad_address_size, at, fmt::format("the address size is 32 or 64, not {}", value.bits));
        return;
    }
    const unsigned version = module().version_major * 10 + module().version_minor;
    if (version != 0 && version < 23) report(Code::needs_version, at, ".address_size needs .version 2.3 or later", "leave it out: addresses of older code are as wide as the compiler is told");
    module().address_size = static_cast<std::uint32_t>(value.bits);
    if (value.bits == 32) report(Code::address_size_32, at, "32-bit addresses: no current ptxas or driver takes such code");
}

void Parser::parse_pragma(std::vector<std::string_view>& pragmas) {
    do {
        const auto text = read_string();
        if (!text) return recover();
        pragmas.push_back(*text);
    } while (accept(','));
    if (!expect(';', "after the pragma")) recover();
}

/// What ptxas says of the pragmas whose meaning it knows (PTX ISA 11.6); others are left to it.
void Parser::check_pragma(std::string_view text, bool in_body, Position at) {
    const Module& m = module();
    const unsigned version = m.version_major * 10 + m.version_minor;
    if (text.starts_with("enable_smem_spilling")) {
        if (!in_body) report(Code::pragma_scope, at, "ptxas takes the pragma \"enable_smem_spilling\" only inside a body", "move it behind the '{'");
        else if (version != 0 && version < 87) report(Code::needs_version, at, "the pragma \"enable_smem_spilling\" needs .version 8.7 or later");
        else if (m.target_number != 0 && m.target_number < 75) report(Code::needs_target, at, "the pragma \"enable_smem_spilling\" needs .target sm_75 or later");
    } else if (in_body && text.starts_with("used_bytes_mask")) {
        if (version != 0 && version < 83) return report(Code::needs_version, at, "the pragma \"used_bytes_mask\" needs .version 8.3 or later");
        const std::string_view mask = text.substr(std::min(text.size(), text.find_first_not_of(" \t", 15)));
        const std::string_view digits = mask.starts_with("0x") || mask.starts_with("0X") ? mask.substr(2) : mask;
        if (digits.empty() || digits.find_first_not_of(digits.size() == mask.size() ? "0123456789" : "0123456789abcdefABCDEF") != std::string_view::npos)
            report(Code::bad_number, at, fmt::format("\"used_bytes_mask\" has a mask such as 0xff, not '{}'", mask));
    }
}

void Parser::parse_alias() {
    const Position start = here();
    std::pair<SymbolId, SymbolId> pair{SymbolId::none, SymbolId::none};
    for (SymbolId* id : {&pair.first, &pair.second}) {
        skip_blanks();
        const Position at = here();
        const Name name = read_name();
        if (name.length == 0) {
            report_unexpected("a function name");
            return recover();
        }
        Entry* entry = resolve_global(name);
        if (entry == nullptr || entry->kind != EntryKind::symbol) {
            undeclared(name, at);
            return recover();
        }
        *id = static_cast<SymbolId>(entry->value);
        if (id == &pair.first && !expect(',', "between the alias and its function")) return recover();
    }
    module().aliases.push_back(pair);
    check_alias(pair.first, pair.second, start);
    if (!expect(';', "after the alias")) recover();
}

}  // namespace flipflop::ptx::detail
