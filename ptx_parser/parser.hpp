// Owns: one pass over PTX text, from bytes to Modules. Single pass, no tokens kept: the cursor moves over the text, and
// what a statement says goes straight into the flat arrays of the Module. Names are resolved on the way; labels at the
// end of each function. Recovery is at statement ends. Nothing recurses deeper than kMaxNesting.
//
// Files: parse.cpp (the file as a whole), parse_header.cpp (.version, .target, ...), parse_function.cpp (signatures,
// performance directives), parse_declaration.cpp (variables), parse_initialiser.cpp, parse_expression.cpp,
// parse_body.cpp (statements), parse_operand.cpp, parse_debug.cpp (.file, .loc, .section), resolve.cpp (labels),
// check.cpp, check_operands.cpp (what ptxas would say of an instruction).
#pragma once

#include <string>
#include <unordered_map>

#include "form_table.hpp"
#include "name_table.hpp"
#include "scan.hpp"
#include "sink.hpp"

namespace flipflop::ptx::detail {

inline constexpr std::uint32_t kMaxNesting = 256;
inline constexpr std::uint32_t kNoIndex = 0xffffffff;

/// An identifier as it stands in the text, with its hashes. "%r12" is numbered: prefix "%r", number 12.
struct Name {
    const char* at{};
    std::uint32_t length{};
    std::uint32_t prefix_length{};
    std::uint32_t number{};
    bool numbered{};

    [[nodiscard]] std::string_view text() const { return {at, length}; }
    [[nodiscard]] std::string_view prefix() const { return {at, prefix_length}; }
};

/// A constant of PTX ISA 4.5: 64-bit integer or floating point, with the form it was written in.
struct Constant {
    enum class Kind : std::uint8_t { integer, f32, f64 } kind{Kind::integer};
    std::uint64_t bits{};
    bool is_unsigned{};
};

/// What a declaration says before its names: ".visible .global .align 4 .v2 .f32".
struct DeclarationHead {
    Linkage linkage{Linkage::none};
    Space space{Space::none};
    Type type{Type::none};
    std::uint8_t vector{1};
    std::uint32_t alignment{};
    bool is_pointer{};
    Space pointer_space{Space::none};
    std::uint32_t pointer_alignment{};
    std::vector<std::string_view> attributes;
};

class Parser {
public:
    Parser(std::shared_ptr<const std::string> text, std::string name, const ParseOptions& options, ParseResult& result);
    void run();

private:
    // --- cursor (parse.cpp; the blanks inline below) ---
    void skip_blanks() {   // one blank or none, mostly
        if (*p_ == ' ') ++p_;
        if (static_cast<unsigned char>(*p_) <= ' ' || *p_ == '/') skip_more_blanks();
    }
    void skip_more_blanks();
    void skip_comment();
    bool skip_line_marker();
    [[nodiscard]] bool at_end() const { return p_ >= end_; }
    [[nodiscard]] Position here() const { return {p_, line_}; }
    bool accept(char c) {
        skip_blanks();
        if (*p_ != c) return false;
        ++p_;
        return true;
    }
    /// Whether this very word stands at the cursor.
    [[nodiscard]] bool at_word(std::string_view word) const {
        return limit_ - p_ > static_cast<std::ptrdiff_t>(word.size()) && std::memcmp(p_, word.data(), word.size()) == 0 && !is_identifier(p_[word.size()]);
    }
    /// Consumes `c` or reports what stands there instead.
    bool expect(char c, std::string_view context);
    void report(Code code, Position position, std::string message, std::string help = {}) {
        sink_.add(code, position, std::move(message), std::move(help));
    }
    void report_unexpected(std::string_view expected);
    /// Moves behind the next ';' of this brace level, or before a '}' that closes it, or before a statement on a new line.
    void recover();
    [[nodiscard]] std::string found_here() const;
    Name read_name();
    /// A directive's word without its dot ("entry"), or empty. Moves behind it.
    std::string_view read_directive();
    [[nodiscard]] std::string_view peek_directive() const;
    [[nodiscard]] std::optional<std::string_view> read_string();
    [[nodiscard]] std::uint64_t hash(std::string_view s) const { return hash_name(s.data(), s.size(), limit_); }

    // --- the file as a whole (parse.cpp, parse_header.cpp) ---
    bool check_bytes();
    void seek_first_module();
    void parse_module();
    void start_module();
    void finish_module();
    bool parse_top_level();
    void parse_version();
    void parse_target();
    void parse_address_size();
    void check_target_version(Position at);
    void parse_pragma(std::vector<std::string_view>& pragmas);
    void check_pragma(std::string_view text, bool in_body, Position at);
    void parse_alias();
    void unknown_directive(std::string_view word, Position at);

    // --- declarations ---
    bool parse_qualifiers(DeclarationHead& head);
    bool parse_attribute(std::vector<std::string_view>& attributes);
    bool parse_one_qualifier(std::string_view word, DeclarationHead& head, bool& known);
    void parse_variables(DeclarationHead&& head);
    bool parse_variable(const DeclarationHead& head);
    bool parse_dimensions(Symbol& symbol);
    void size_symbol(Symbol& symbol);
    void parse_registers(const DeclarationHead& head);
    bool declare_register(const Name& name, const DeclarationHead& head, std::optional<std::uint64_t> count, Position at);
    void note_single(const Name& name);
    bool declare_symbol(SymbolId id, const Name& name, Position at);
    void check_declared(const DeclarationHead& head, const Name& name, Position at);
    void check_same_variable(const Symbol& before, const Symbol& now, Position at);
    void check_register_overlap(const Name& name, std::optional<std::uint64_t> count, Position at);
    void parse_initialiser(Symbol& symbol);
    bool parse_initial_value(Symbol& symbol);
    void skip_braces();

    // --- functions ---
    void parse_function(bool is_entry, DeclarationHead&& head);
    bool parse_parameters(std::vector<SymbolId>& list, std::uint32_t function, bool& is_variadic);
    bool parse_parameter(std::vector<SymbolId>& list, std::uint32_t function, bool& is_variadic);
    void parse_performance_directives(Function& function);
    bool parse_performance_directive(std::string_view word, Function& function);
    bool parse_three(std::optional<std::uint32_t> (&values)[3], bool may_be_zero);
    std::optional<std::uint32_t> parse_count(bool may_be_zero);
    std::uint32_t function_named(const Name& name, Linkage linkage, bool is_entry, Position at);
    void check_function(const Function& function, Position at);
    void check_bounds(const Function& function, Position at);

    // --- bodies ---
    void parse_body(std::uint32_t function);
    void start_body(std::uint32_t function);
    void finish_body();
    bool parse_statement();
    void parse_labelled_or_instruction(const char* start, std::uint32_t line);
    bool parse_body_directive();
    void parse_guarded();
    void parse_instruction(const char* start, std::uint32_t line, const char* opcode, const char* opcode_end, RegId guard, bool negated);
    bool parse_operands(const FormDetail& detail);
    void end_statement();
    void open_scope();
    void close_scope();
    void add_label(const Name& name, std::uint32_t line);
    void parse_label_table(const Name& label, bool calls);
    void parse_prototype(const Name& label);

    // --- operands ---
    bool parse_operand(bool parentheses_are_list, bool label_first);
    bool parse_identifier_operand(bool label_first);
    bool parse_address();
    bool parse_address_base(Operand& operand);
    bool parse_offset(std::int64_t& value);
    bool parse_group(char close, OperandKind kind);
    bool parse_negated();
    bool parse_constant_operand();
    bool special_operand(const Name& name, Operand& operand);
    void read_selector(Operand& operand, unsigned elements);
    void push(const Operand& operand, Type type) {
        operands_.push_back(operand);
        types_.push_back(type);
    }
    /// A parameterised register with nothing behind its number, the usual operand: its range, and the cursor behind it.
    /// Nothing for all else, which resolve_local() finds by its Name.
    [[nodiscard]] const Entry* accept_plain_register(RegId& reg) {
        if (limit_ - p_ < 16) return nullptr;
        const PlainName name = plain_name(p_);
        if (name.prefix_length == 0) return nullptr;
        const Entry* const range = ranges_.find(p_, name.prefix_length, hash_of_word(name.prefix, name.prefix_length));
        if (range == nullptr || range->has_singles || range->vector > 1 || name.number >= range->count) return nullptr;
        p_ += name.length;
        reg = static_cast<RegId>(range->value + name.number);
        return range;
    }
    /// The same as an operand; false, and nothing is changed, when there is none.
    bool accept_plain_operand() {
        RegId reg = RegId::none;
        const Entry* const range = is_start(*p_) ? accept_plain_register(reg) : nullptr;
        if (range == nullptr) return false;
        Operand operand;
        operand.kind = OperandKind::reg;
        operand.index = static_cast<std::uint32_t>(reg);
        push(operand, range->type);
        return true;
    }
    [[nodiscard]] const Entry* resolve_local(const Name& name, RegId& reg);
    [[nodiscard]] Entry* resolve_global(const Name& name) { return globals_.find(name.at, name.length, hash(name.text())); }
    RegId use_module_register(const Name& name, const Entry& entry);
    void undeclared(const Name& name, Position at);
    void pending_label(const Name& name, Position at, bool must_be_label);

    // --- constants ---
    bool parse_constant(Constant& value);
    bool parse_number(Constant& value);
    bool parse_conditional(Constant& value, unsigned depth);
    bool parse_binary(Constant& value, int least, unsigned depth);
    bool parse_unary(Constant& value, unsigned depth);
    bool apply_binary(std::string_view op, Constant& left, const Constant& right, Position at);
    [[nodiscard]] std::string_view peek_binary_operator() const;

    // --- debug ---
    void parse_file();
    void parse_loc();
    void parse_section(const char* start);
    std::uint32_t location_at(std::uint32_t file, std::uint32_t line, std::uint32_t column);

    // --- ends and checks ---
    void resolve_labels();
    void check_operands(const Instruction& instruction, FormDetail& detail);
    /// Registers and integers alone, of types that fit: what check_operands() has nothing to say of.
    [[nodiscard]] bool operands_are_plain(const FormDetail& detail) const {
        const std::size_t count = operands_.size();
        if (count < detail.least || count > detail.checked || detail.needs_check) return false;
        for (std::size_t i = 0; i < count; ++i) {
            const Operand& operand = operands_[i];
            if (operand.negated || operand.paired) return false;
            if (operand.kind == OperandKind::reg ? (detail.plain[i] >> static_cast<unsigned>(types_[i]) & 1) == 0
                                                 : operand.kind != OperandKind::immediate || i == 0 || detail.constants[i] == FormDetail::Constants::floats)
                return false;
        }
        return true;
    }
    void check_operand(const Form& form, const FormDetail& detail, std::size_t index, const Operand& operand, Type type, Position at);
    void check_vector(const Form& form, const Operand& operand, std::uint64_t allowed, Position at);
    void check_form(std::uint32_t form, Position at);
    void note_shared(std::uint32_t symbol);
    void check_shared();
    void report_form_uses();
    void check_call(Position at);
    void check_indirect_call(const Operand* results, std::size_t target, Position at);
    void check_arguments(const Function& callee, const Operand* arguments, const std::vector<SymbolId>& formals, Position at);
    bool check_redeclared(const Function& before, const std::vector<SymbolId>& returns, const std::vector<SymbolId>& parameters, Position at);
    void check_alias(SymbolId alias, SymbolId target, Position at);
    void check_special_operand(const Form& form, std::size_t index, const Operand& operand, Position at);
    void check_address_register(const Form& form, const Operand& operand, Position at);
    void check_rules(const Form& form, Position at);
    void check_comparison(const Form& form, Position at);
    void check_conversion(const Form& form, Position at);
    void check_partner(const Form& form, std::size_t index, Position at);
    void check_result(const Form& form, Position at);
    void check_space(const Form& form, const Operand& operand, Position at);
    void check_values(const Form& form, Position at);
    void check_vector_sizes(const Form& form, Position at);
    void check_packed(const Form& form, const Operand& operand, Position at);
    void check_special(Special special, std::string_view name, Position at);
    void check_constants();

    struct PendingLabel {
        Name name;
        std::uint64_t hash{};
        std::uint32_t operand{};    ///< index into module().operands, or kNoIndex for a table's target
        std::uint32_t table{}, table_index{};
        std::uint32_t scope{};
        std::uint32_t line{};
        bool must_be_label{};
    };
    struct LabelKey {
        std::uint64_t hash{};
        std::uint32_t label{kNoIndex};
        std::uint32_t generation{};
    };
    [[nodiscard]] LabelKey& label_slot(std::string_view name, std::uint64_t hash, std::uint32_t scope);
    void grow_labels();

    Module& module() { return result_.modules.back(); }
    Function& function() { return result_.modules.back().functions[function_]; }

    std::shared_ptr<const std::string> text_;
    std::string name_;
    ParseResult& result_;
    Sink sink_;
    const char* begin_{};
    const char* p_{};
    const char* end_{};     ///< the first NUL: where the text ends for us as for the driver
    const char* limit_{};   ///< one past the last readable byte
    std::uint32_t line_{1};
    bool non_ascii_{}, non_ascii_reported_{};
    bool in_module_{};
    std::uint32_t module_line_{1};   ///< of the .version of the module in hand; 1 for the first

    FormTable forms_;
    NameTable globals_{1024};
    NameTable names_{256};     ///< whole names of the function in hand
    NameTable ranges_{256};    ///< prefixes of its parameterised registers
    std::unordered_map<std::string_view, std::uint32_t> unknown_modifiers_;
    std::unordered_map<std::uint64_t, std::uint32_t> location_index_;
    std::size_t indexed_locations_{};  ///< how many of module().locations stand in location_index_
    std::uint64_t declared_registers_{};

    // The body in hand.
    std::uint32_t function_{};
    std::vector<Instruction> instructions_;
    std::vector<std::uint32_t> open_scopes_;
    bool truncated_{};                 ///< the text ends inside it: what is missing is not complained about name by name
    std::uint32_t ignored_scopes_{};   ///< braces deeper than kMaxNesting
    std::uint32_t location_{};
    std::vector<PendingLabel> pending_;
    std::vector<LabelKey> label_slots_;
    std::uint32_t label_generation_{1};
    std::vector<std::uint32_t> shared_used_by_;  ///< by SymbolId: function that counted it last, plus 1
    std::uint64_t shared_bytes_{};
    std::uint64_t reported_specials_{};

    // The statement in hand.
    std::vector<Operand> operands_;
    std::vector<Type> types_;
    std::uint32_t pending_before_{};
    std::uint32_t nesting_{};
    bool may_name_label_{};   ///< bra, brx.idx, call: an unknown name may be a label or table further down
};

}  // namespace flipflop::ptx::detail
