// Statements of a body (PTX ISA 4.3): the hot loop. An instruction costs one hash look-up for its opcode text and one for
// each name; nothing is allocated but at the ends of flat arrays.
#include <fmt/format.h>

#include "parser.hpp"

namespace flipflop::ptx::detail {

void Parser::start_body(std::uint32_t index) {
    function_ = index;
    names_.clear();
    ranges_.clear();
    instructions_.clear();
    pending_.clear();
    open_scopes_.clear();
    truncated_ = false;
    ignored_scopes_ = 0;
    location_ = 0;
    shared_bytes_ = 0;
    ++label_generation_;
    Function& f = function();
    f.has_body = true;
    f.registers.clear();
    f.register_ranges.clear();
    f.labels.clear();
    f.variables.clear();
    f.scopes.assign(1, Scope{});
    f.scopes[0].begin_offset = static_cast<std::uint32_t>(p_ - begin_);
    f.body_pragmas.clear();
    open_scopes_.push_back(0);
    for (const std::vector<SymbolId>* list : {&f.returns, &f.parameters})
        for (SymbolId id : *list) {
            const Symbol& symbol = module().symbol(id);
            const char* save = p_;
            p_ = symbol.name.data();
            const Name name = read_name();
            p_ = save;
            const Position at{symbol.name.data(), f.line};
            if (name.text() == "_") continue;
            if (symbol.space == Space::reg) {
                DeclarationHead head;
                head.space = Space::reg;
                head.type = symbol.type;
                head.vector = symbol.vector;
                declare_register(name, head, std::nullopt, at);
            } else {
                declare_symbol(id, name, at);
            }
        }
}

void Parser::parse_body(std::uint32_t index) {
    const Position open = here();
    ++p_;
    start_body(index);
    while (!open_scopes_.empty()) {
        if (!parse_statement()) {
            truncated_ = true;
            report(Code::unexpected_end, here(), fmt::format("the text ends inside the body of '{}'", function().name),
                   fmt::format("its '{{' is in line {}; the file looks truncated", open.line));
            break;
        }
    }
    finish_body();
}

void Parser::finish_body() {
    while (!open_scopes_.empty()) close_scope();
    resolve_labels();
    check_shared();
    Function& f = function();
    // A function that is most of a large module keeps the scratch array itself: no second copy in memory.
    if (instructions_.size() > (1u << 20)) {
        instructions_.shrink_to_fit();
        f.instructions = std::move(instructions_);
        instructions_ = {};
    } else {
        f.instructions.assign(instructions_.begin(), instructions_.end());
    }
    f.scopes[0].end = static_cast<std::uint32_t>(f.instructions.size());
}

void Parser::open_scope() {
    ++p_;
    if (open_scopes_.size() >= kMaxNesting) {
        if (ignored_scopes_++ == 0) report(Code::nested_too_deep, {p_ - 1, line_}, fmt::format("braces nested deeper than {} are not followed", kMaxNesting));
        return;
    }
    Function& f = function();
    const auto here_at = static_cast<std::uint32_t>(instructions_.size());
    const auto id = static_cast<std::uint32_t>(f.scopes.size());
    f.scopes.push_back({open_scopes_.back(), here_at, here_at, static_cast<std::uint32_t>(p_ - 1 - begin_), 0});
    open_scopes_.push_back(id);
    names_.open_scope();
    ranges_.open_scope();
}

void Parser::close_scope() {
    if (ignored_scopes_ != 0) {
        --ignored_scopes_;
        return;
    }
    Scope& scope = function().scopes[open_scopes_.back()];
    scope.end = static_cast<std::uint32_t>(instructions_.size());
    scope.end_offset = static_cast<std::uint32_t>(p_ - begin_);
    open_scopes_.pop_back();
    if (open_scopes_.empty()) return;
    names_.close_scope();
    ranges_.close_scope();
}

/// One statement; false at the end of the text.
bool Parser::parse_statement() {
    skip_blanks();
    const char c = *p_;
    if (is_start(c)) {
        parse_labelled_or_instruction(p_, line_);
        return true;
    }
    switch (c) {
        case '@': parse_guarded(); return true;
        case '{': open_scope(); return true;
        case '}':
            ++p_;
            close_scope();
            return true;
        case '.':
            if (is_start(p_[1])) return parse_body_directive();
            break;
        case ';':
            report(Code::empty_statement, here(), "a ';' without a statement", "an empty asm(\"\") leaves one behind; remove it");
            while (*p_ == ';') {
                ++p_;
                skip_blanks();
            }
            return true;
        default: break;
    }
    if (at_end()) return false;
    if (skip_line_marker()) return true;
    report_unexpected("a statement");
    const char* before = p_;
    recover();
    if (p_ == before) ++p_;
    return true;
}

void Parser::parse_labelled_or_instruction(const char* start, std::uint32_t line) {
    const OpcodeEnds ends = opcode_ends(start, limit_);
    if (ends.opcode == ends.word && *ends.word != ';') {
        // No modifiers at once: a label, or an opcode with its dot after a blank, or one without modifiers (ret).
        p_ = ends.word;
        skip_blanks();
        if (*p_ == ':' && p_[1] != ':') {
            ++p_;
            const char* after = p_;
            p_ = start;
            const Name name = read_name();
            p_ = after;
            add_label(name, line);
            return;
        }
    }
    parse_instruction(start, line, start, ends.opcode, RegId::none, false);
}

void Parser::add_label(const Name& name, std::uint32_t line) {
    skip_blanks();
    if (*p_ == '.') {
        const std::string_view word = peek_directive();
        if (word == "branchtargets" || word == "calltargets") {
            read_directive();
            return parse_label_table(name, word == "calltargets");
        }
        if (word == "callprototype") {
            read_directive();
            return parse_prototype(name);
        }
    }
    Function& f = function();
    const std::uint64_t h = hash(name.text());
    const std::uint32_t scope = open_scopes_.empty() ? 0 : open_scopes_.back();
    if ((f.labels.size() + 1) * 2 > label_slots_.size()) grow_labels();
    LabelKey& slot = label_slot(name.text(), h, scope);
    if (slot.generation == label_generation_) {
        report(Code::duplicate_label, {name.at, line}, fmt::format("the label '{}' is already in this scope", name.text()),
               fmt::format("the first one is in line {}", f.labels[slot.label].line));
        return;
    }
    slot = {h, static_cast<std::uint32_t>(f.labels.size()), label_generation_};
    f.labels.push_back({name.text(), static_cast<std::uint32_t>(instructions_.size()), line, scope});
}

void Parser::parse_guarded() {
    const char* start = p_;
    const std::uint32_t line = line_;
    ++p_;
    const bool negated = accept('!');
    skip_blanks();
    const Position at = here();
    RegId guard = RegId::none;
    const Entry* entry = accept_plain_register(guard);
    const Name name = entry == nullptr ? read_name() : Name{at.at, static_cast<std::uint32_t>(p_ - at.at)};
    if (name.length == 0) {
        report_unexpected("a predicate after '@'");
        return recover();
    }
    if (entry == nullptr) entry = resolve_local(name, guard);
    if (entry == nullptr || guard == RegId::none) {
        const Entry* global = entry == nullptr ? resolve_global(name) : nullptr;
        if (global != nullptr && global->kind == EntryKind::module_register) guard = use_module_register(name, *global);
        else undeclared(name, at);
    } else if (entry->type != Type::pred && entry->kind != EntryKind::poisoned) {
        report(Code::guard_type, at, fmt::format("the guard '{}' is .{}, not .pred", name.text(), to_string(entry->type)));
    }
    skip_blanks();
    if (*p_ == '@') {
        report(Code::two_guards, here(), "an instruction has one guard at most", "combine the predicates with and.pred");
        return recover();
    }
    if (!is_start(*p_)) {
        report_unexpected("an instruction after the guard");
        if (*p_ != '}') recover();
        return;
    }
    const char* opcode = p_;
    parse_instruction(start, line, opcode, end_of_run<kOpcode>(opcode, limit_), guard, negated);
}

void Parser::parse_instruction(const char* start, std::uint32_t line, const char* opcode, const char* q, RegId guard, bool negated) {
    for (;;) {  // modifiers: letters, digits, dots and "::"
        if ((class_of(*q) & kOpcode) != 0) q = end_of_run<kOpcode>(q, limit_);
        if (q[0] == ':' && q[1] == ':') {
            q += 2;
            continue;
        }
        if (q[0] == '[' && q - opcode > 5 && std::string_view(q - 5, 5) == "const") {  // ld.const[1]: banks of PTX 1.x
            const char* bank = q + 1;
            while (is_digit(*bank)) ++bank;
            if (*bank == ']') {
                q = bank + 1;
                continue;
            }
        }
        p_ = q;
        skip_blanks();
        if (*p_ != '.' || !is_identifier(p_[1])) break;
        if (is_digit(p_[1]) && p_ == q) break;
        q = p_ + 1;  // a blank before a modifier's dot
    }
    const std::string_view text(opcode, static_cast<std::size_t>(q - opcode));
    Module& m = module();
    const std::uint32_t form = forms_.intern(text, hash(text), m.forms);
    FormDetail& detail = forms_.detail(form);
    operands_.clear();
    types_.clear();
    pending_before_ = static_cast<std::uint32_t>(pending_.size());
    const std::uint32_t before_errors = static_cast<std::uint32_t>(result_.errors);
    const bool complete = parse_operands(detail);
    Instruction instruction;
    instruction.form = form;
    instruction.operands_begin = static_cast<std::uint32_t>(m.operands.size());
    instruction.operand_count = static_cast<std::uint16_t>(std::min<std::size_t>(operands_.size(), 0xffff));
    instruction.guard = guard;
    instruction.guard_negated = negated;
    instruction.offset = static_cast<std::uint32_t>(start - begin_);
    instruction.line = line;
    instruction.location = location_;
    for (const Operand& operand : operands_) m.operands.push_back(operand);   // a few: no call of memmove
    for (std::size_t i = pending_before_; i < pending_.size(); ++i) {
        // Until here the pending name knows only which operand of the statement it is.
        PendingLabel& pending = pending_[i];
        if (pending.table == kNoIndex && pending.table_index == 1) {
            pending.operand += instruction.operands_begin;
            pending.table_index = 0;
        }
    }
    if (detail.uses++ == 0) {
        detail.first_offset = static_cast<std::uint32_t>(opcode - begin_);
        detail.first_line = line;
        check_form(form, {opcode, line});
    }
    if (m.forms[form].opcode == Opcode::unknown) ++function().unknown_instructions;
    if (complete && before_errors == static_cast<std::uint32_t>(result_.errors) && !operands_are_plain(detail)) check_operands(instruction, detail);
    instructions_.push_back(instruction);
    if (!complete) recover();
}

/// The operands and the ';'. False when the statement must be skipped to its end.
bool Parser::parse_operands(const FormDetail& detail) {
    skip_blanks();
    if (*p_ == ';') return ++p_, true;
    const bool parentheses = detail.is_call;
    nesting_ = 0;
    may_name_label_ = detail.may_name_label;
    for (bool first = true;; first = false) {
        const bool label_first = detail.is_branch && first;
        if ((label_first || !accept_plain_operand()) && !parse_operand(parentheses, label_first)) return false;
        skip_blanks();
        const char c = *p_;
        if (c == ',') {
            ++p_;
            skip_blanks();
            continue;
        }
        if (c == ';') return ++p_, true;
        if (c == '|') {
            operands_.back().paired = true;
            ++p_;
            skip_blanks();
            continue;
        }
        break;
    }
    if (at_end() || *p_ == '}') {
        report_unexpected("';' at the end of the instruction");
        return at_end();
    }
    // A statement that starts on a line of its own: only the ';' before it was forgotten.
    const char* back = p_;
    while (back > begin_ && (back[-1] == ' ' || back[-1] == '\t')) --back;
    if (back > begin_ && (back[-1] == '\n' || back[-1] == '\r') && (is_start(*p_) || *p_ == '@' || *p_ == '.')) {
        report(Code::missing_semicolon, here(), fmt::format("expected ';' before {}", found_here()), "the statement before it has no ';'");
        return true;
    }
    report_unexpected("',' or ';'");
    return false;
}

bool Parser::parse_body_directive() {
    const Position at = here();
    const std::string_view word = peek_directive();
    if (word == "loc") return read_directive(), parse_loc(), true;
    if (word == "file") return read_directive(), parse_file(), true;
    if (word == "section") return read_directive(), parse_section(at.at), true;
    if (word == "pragma") {
        read_directive();
        std::vector<std::string_view> pragmas;
        parse_pragma(pragmas);
        for (std::string_view text : pragmas) {
            check_pragma(text, true, at);
            function().body_pragmas.push_back({static_cast<std::uint32_t>(instructions_.size()), text});
        }
        return true;
    }
    if (word == "version" || word == "entry" || word == "func" || word == "visible") {
        report(Code::unexpected_text, at, fmt::format("'.{}' inside the body of '{}'", word, function().name), "a '}' seems to be missing before it");
        while (!open_scopes_.empty()) close_scope();
        return true;
    }
    DeclarationHead head;
    bool known = true;
    read_directive();
    if (!parse_one_qualifier(word, head, known)) return recover(), true;
    if (!known) return unknown_directive(word, at), true;
    parse_variables(std::move(head));
    return true;
}

/// name: .branchtargets a, b, ...;  or  name: .calltargets f, g;
void Parser::parse_label_table(const Name& label, bool calls) {
    Module& m = module();
    const auto table = static_cast<std::uint32_t>(m.label_tables.size());
    m.label_tables.emplace_back();
    Symbol symbol;
    symbol.name = label.text();
    symbol.kind = Symbol::Kind::label_table;
    symbol.function = function_;
    symbol.index = table;
    symbol.offset = static_cast<std::uint32_t>(label.at - begin_);
    symbol.scope = open_scopes_.back();
    const auto id = static_cast<SymbolId>(m.symbols.size());
    m.symbols.push_back(std::move(symbol));
    function().variables.push_back(id);
    declare_symbol(id, label, {label.at, line_});
    if (m.version_major != 0 && m.version_major * 10 + m.version_minor < (calls ? 21u : 60u))
        report(Code::needs_version, {label.at, line_}, fmt::format(".{} needs .version {} or later", calls ? "calltargets" : "branchtargets", calls ? "2.1" : "6.0"));
    do {
        skip_blanks();
        const Position at = here();
        const Name name = read_name();
        if (name.length == 0) {
            report_unexpected(calls ? "a function" : "a label");
            return recover();
        }
        if (calls) {
            const Entry* entry = resolve_global(name);
            if (entry == nullptr || entry->kind != EntryKind::symbol) undeclared(name, at);
            else m.label_tables[table].function_targets.push_back(static_cast<SymbolId>(entry->value));
            continue;
        }
        PendingLabel pending;
        pending.name = name;
        pending.hash = hash(name.text());
        pending.operand = kNoIndex;
        pending.table = table;
        pending.table_index = static_cast<std::uint32_t>(m.label_tables[table].instruction_targets.size());
        pending.scope = open_scopes_.back();
        pending.line = line_;
        pending.must_be_label = true;
        m.label_tables[table].instruction_targets.push_back(0);
        pending_.push_back(pending);
    } while (accept(','));
    if (!expect(';', "after the table")) recover();
}

/// name: .callprototype (...) _ (...);
void Parser::parse_prototype(const Name& label) {
    skip_blanks();
    const char* start = p_;
    while (!at_end() && *p_ != ';' && *p_ != '}' && *p_ != '{') {
        if (*p_ == '\n') ++line_;
        ++p_;
    }
    if (*p_ != ';') {
        report_unexpected("';' after the prototype");
        return recover();
    }
    const char* last = p_;
    while (last > start && (class_of(last[-1]) & kBlank) != 0) --last;
    ++p_;
    Module& m = module();
    Symbol symbol;
    symbol.name = label.text();
    symbol.kind = Symbol::Kind::prototype;
    symbol.function = function_;
    symbol.index = static_cast<std::uint32_t>(m.prototypes.size());
    symbol.offset = static_cast<std::uint32_t>(label.at - begin_);
    symbol.scope = open_scopes_.back();
    m.prototypes.emplace_back(start, static_cast<std::size_t>(last - start));
    const auto id = static_cast<SymbolId>(m.symbols.size());
    m.symbols.push_back(std::move(symbol));
    function().variables.push_back(id);
    declare_symbol(id, label, {label.at, line_});
}

}  // namespace flipflop::ptx::detail
