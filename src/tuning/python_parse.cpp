// Text to nodes, by precedence as the Python reference (6.17) lists it.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tuning/python_expression.hpp"
#include "tuning/python_functions.hpp"

namespace flipflop::tuning {

namespace {

constexpr std::uint32_t kMostDepth = 64;
constexpr std::uint32_t kMostHeight = 4000;          ///< of the tree: what evaluating it recurses
constexpr std::size_t kMostText = 64 * 1024;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

class PythonParser {
public:
    PythonParser(std::string text, Origin origin) {
        e_.text_ = std::move(text);
        e_.origin_ = std::move(origin);
    }

    Result<Expression> run() {
        if (e_.text_.size() > kMostText) return tl::unexpected(e_.complain(1, fmt::format("is longer than {} bytes", kMostText)));
        advance();
        const std::uint32_t root = conditional();
        if (!error_ && token_ != "") fail(fmt::format("'{}' is not expected here", token_), hint());
        if (error_) return tl::unexpected(std::move(*error_));
        e_.root_ = root;
        std::vector<std::uint32_t> bound;
        free_names(root, bound);
        return std::move(e_);
    }

private:
    using Op = Expression::Op;
    using Relation = Expression::Relation;
    enum class Kind : std::uint8_t { end, number, text, word, symbol };

    // ---- tokens -----------------------------------------------------------------------------------------------------
    void advance() {
        const std::string_view all = e_.text_;
        while (at_ < all.size() && (all[at_] == ' ' || all[at_] == '\t' || all[at_] == '\n' || all[at_] == '\r')) ++at_;
        begin_ = at_;
        literal_ = {};
        if (at_ == all.size()) {
            kind_ = Kind::end;
            token_ = {};
            return;
        }
        const char c = all[at_];
        if (is_digit(c) || (c == '.' && at_ + 1 < all.size() && is_digit(all[at_ + 1]))) return number();
        if (c == '\'' || c == '"') return quoted(c);
        if (is_letter(c)) {
            while (at_ < all.size() && (is_letter(all[at_]) || is_digit(all[at_]))) ++at_;
            kind_ = Kind::word;
            token_ = all.substr(begin_, at_ - begin_);
            if (at_ < all.size() && (all[at_] == '\'' || all[at_] == '"')) fail("strings with a prefix are not known here");
            return;
        }
        static constexpr std::array<std::string_view, 12> kTwo{"**", "//", "<=", ">=", "==", "!=", "<<", ">>", "&&", "||", ":=", "->"};
        kind_ = Kind::symbol;
        const std::string_view two = all.substr(at_, 2);
        at_ += std::find(kTwo.begin(), kTwo.end(), two) != kTwo.end() ? 2 : 1;
        token_ = all.substr(begin_, at_ - begin_);
    }

    void number() {
        const std::string_view all = e_.text_;
        std::string digits;
        int base = 10;
        if (all[at_] == '0' && at_ + 1 < all.size()) {
            const char mark = static_cast<char>(all[at_ + 1] | 0x20);
            base = mark == 'x' ? 16 : mark == 'b' ? 2 : mark == 'o' ? 8 : 10;
            if (base != 10) at_ += 2;
        }
        bool real = false;
        for (; at_ < all.size(); ++at_) {
            const char c = all[at_];
            if (c == '_') continue;
            const bool exponent = base == 10 && (c == 'e' || c == 'E');
            const bool sign = (c == '+' || c == '-') && !digits.empty() && (digits.back() == 'e' || digits.back() == 'E') && base == 10;
            if (!is_digit(c) && !is_letter(c) && c != '.' && !sign) break;
            real |= exponent || (c == '.' && base == 10);
            digits += c;
        }
        kind_ = Kind::number;
        token_ = all.substr(begin_, at_ - begin_);
        const char* const first = digits.data();
        const char* const last = first + digits.size();
        if (real) {
            double value = 0;
            const auto [end, error] = std::from_chars(first, last, value);
            if (error == std::errc{} && end == last) literal_ = Value::of(value);
        } else {
            std::int64_t value = 0;
            const auto [end, error] = std::from_chars(first, last, value, base);
            if (error == std::errc::result_out_of_range) return fail(fmt::format("{} does not fit into 64 bits", token_));
            if (error == std::errc{} && end == last) literal_ = Value::of(value);
        }
        if (literal_.kind == Value::Kind::none) fail(fmt::format("'{}' is not a number", token_));
    }

    void quoted(char quote) {
        const std::string_view all = e_.text_;
        std::string content;
        for (++at_; at_ < all.size() && all[at_] != quote; ++at_) {
            char c = all[at_];
            if (c == '\\' && at_ + 1 < all.size()) {
                c = all[++at_];
                if (c != '\\' && c != '\'' && c != '"') return fail("of the escapes in strings only \\\\, \\' and \\\" are known here");
            }
            content += c;
        }
        if (at_ == all.size()) return fail("a string without its end");
        ++at_;
        kind_ = Kind::text;
        token_ = all.substr(begin_, at_ - begin_);
        literal_ = Value::of(std::move(content));
    }

    [[nodiscard]] bool is(std::string_view token) const { return (kind_ == Kind::word || kind_ == Kind::symbol) && token_ == token; }
    bool take(std::string_view token) {
        if (!is(token)) return false;
        advance();
        return true;
    }
    void expect(std::string_view token) {
        if (!take(token)) fail(fmt::format("'{}' is missing before {}", token, kind_ == Kind::end ? std::string("the end") : fmt::format("'{}'", token_)), hint());
    }
    [[nodiscard]] std::string hint() const {
        if (token_ == "&&") return "Python writes 'and'";
        if (token_ == "||") return "Python writes 'or'";
        if (token_ == "!") return "Python writes 'not'";
        if (token_ == "=") return "equality is '=='";
        return {};
    }

    void fail(std::string message, std::string help = {}) { fail_at(begin_, std::move(message), std::move(help)); }
    void fail_at(std::size_t place, std::string message, std::string help = {}) {
        if (!error_) error_ = e_.complain(static_cast<std::uint32_t>(place + 1), std::move(message), std::move(help));
        at_ = e_.text_.size();   // nothing is read any more
        begin_ = at_;
        kind_ = Kind::end;
        token_ = {};
    }

    // ---- nodes ------------------------------------------------------------------------------------------------------
    std::uint32_t node(Op op, const std::vector<std::uint32_t>& operands, std::size_t place, std::uint32_t index = 0) {
        Expression::Node n{op, static_cast<std::uint32_t>(e_.children_.size()), static_cast<std::uint32_t>(operands.size()), index,
                           static_cast<std::uint32_t>(place + 1)};
        std::uint32_t height = 1;
        for (const std::uint32_t operand : operands)
            if (operand < heights_.size()) height = std::max(height, heights_[operand] + 1);
        if (height > kMostHeight) fail(fmt::format("has more than {} operators in one row", kMostHeight));
        e_.children_.insert(e_.children_.end(), operands.begin(), operands.end());
        e_.nodes_.push_back(n);
        heights_.push_back(height);
        return static_cast<std::uint32_t>(e_.nodes_.size() - 1);
    }
    std::uint32_t constant(Value value, std::size_t place) {
        e_.constants_.push_back(std::move(value));
        return node(Op::constant, {}, place, static_cast<std::uint32_t>(e_.constants_.size() - 1));
    }
    std::uint32_t index_of(std::string_view word) {
        const auto found = std::find(e_.all_names_.begin(), e_.all_names_.end(), word);
        const auto index = static_cast<std::uint32_t>(found - e_.all_names_.begin());
        if (found == e_.all_names_.end()) {
            e_.all_names_.emplace_back(word);
            e_.free_.push_back(-1);
        }
        return index;
    }
    std::uint32_t name(std::string_view word, std::size_t place) { return node(Op::name, {}, place, index_of(word)); }

    /// Depth of the text's nesting; too deep is an error, not a stack overflow.
    struct Deeper {
        explicit Deeper(PythonParser& p) : parser(p) {
            if (++parser.depth_ > kMostDepth) parser.fail(fmt::format("is nested more than {} levels deep", kMostDepth));
        }
        ~Deeper() { --parser.depth_; }
        PythonParser& parser;
    };

    std::uint32_t conditional() {
        const Deeper deeper(*this);
        const std::size_t place = begin_;
        if (is("lambda")) return fail("functions cannot be defined here: lambda"), 0;
        const std::uint32_t value = either();
        if (!take("if")) return value;
        const std::uint32_t condition = either();
        expect("else");
        const std::uint32_t other = conditional();
        return node(Op::conditional, {condition, value, other}, place);
    }
    std::uint32_t either() {
        const std::size_t place = begin_;
        std::vector<std::uint32_t> all{both()};
        while (take("or")) all.push_back(both());
        return all.size() == 1 ? all.front() : node(Op::logical_or, all, place);
    }
    std::uint32_t both() {
        const std::size_t place = begin_;
        std::vector<std::uint32_t> all{negation()};
        while (take("and")) all.push_back(negation());
        return all.size() == 1 ? all.front() : node(Op::logical_and, all, place);
    }
    std::uint32_t negation() {
        const Deeper deeper(*this);
        const std::size_t place = begin_;
        return take("not") ? node(Op::logical_not, {negation()}, place) : comparison();
    }

    std::optional<Relation> relation() {
        static constexpr std::pair<std::string_view, Relation> kRelations[]{
            {"<", Relation::less}, {"<=", Relation::less_equal}, {">", Relation::greater}, {">=", Relation::greater_equal},
            {"==", Relation::equal}, {"!=", Relation::not_equal}, {"in", Relation::in}};
        if (take("not")) {
            if (!is("in")) fail("'in' is missing behind 'not'");
            advance();
            return Relation::not_in;
        }
        for (const auto& [word, meaning] : kRelations)
            if (take(word)) return meaning;
        return std::nullopt;
    }
    std::uint32_t comparison() {
        const std::size_t place = begin_;
        std::vector<std::uint32_t> operands{binary(0)};
        std::vector<Relation> relations;
        while (const auto r = relation()) {
            relations.push_back(*r);
            operands.push_back(binary(0));
        }
        if (relations.empty()) return operands.front();
        const auto index = static_cast<std::uint32_t>(e_.relations_.size());
        e_.relations_.insert(e_.relations_.end(), relations.begin(), relations.end());
        return node(Op::compare, operands, place, index);
    }

    struct Operator { std::string_view token; Op op; };
    static constexpr std::array<std::array<Operator, 5>, 6> kLevels{{
        {{{"|", Op::bit_or}}},
        {{{"^", Op::bit_xor}}},
        {{{"&", Op::bit_and}}},
        {{{"<<", Op::shift_left}, {">>", Op::shift_right}}},
        {{{"+", Op::add}, {"-", Op::subtract}}},
        {{{"*", Op::multiply}, {"/", Op::divide}, {"//", Op::floor_divide}, {"%", Op::modulo}}},
    }};
    std::uint32_t binary(std::size_t level) {
        if (level == kLevels.size()) return unary();
        std::uint32_t left = binary(level + 1);
        for (;;) {
            const std::size_t place = begin_;
            const auto found = std::find_if(kLevels[level].begin(), kLevels[level].end(), [&](const Operator& o) { return !o.token.empty() && is(o.token); });
            if (found == kLevels[level].end()) return left;
            advance();
            left = node(found->op, {left, binary(level + 1)}, place);
        }
    }
    std::uint32_t unary() {
        const Deeper deeper(*this);
        const std::size_t place = begin_;
        if (take("-")) return node(Op::negate, {unary()}, place);
        if (take("+")) return node(Op::plus, {unary()}, place);
        if (take("~")) return node(Op::invert, {unary()}, place);
        const std::uint32_t base = postfix();
        const std::size_t power = begin_;
        return take("**") ? node(Op::power, {base, unary()}, power) : base;
    }

    std::uint32_t postfix() {
        std::uint32_t value = atom();
        for (;;) {
            const std::size_t place = begin_;
            if (take("[")) {
                const std::uint32_t index = conditional();
                expect("]");
                value = node(Op::subscript, {value, index}, place);
            } else if (is(".")) {
                return fail("attributes are not known here: only names, numbers, operators and a few functions"), 0;
            } else if (is("(")) {
                return fail("only functions called by their names are known here"), 0;
            } else {
                return value;
            }
        }
    }

    std::uint32_t atom() {
        const Deeper deeper(*this);
        const std::size_t place = begin_;
        if (kind_ == Kind::number || kind_ == Kind::text) {
            Value value = literal_;
            advance();
            return constant(std::move(value), place);
        }
        if (kind_ == Kind::word) return word();
        if (take("[")) return list("]", place);
        if (take("(")) return list(")", place);
        if (is("{")) return fail("sets and dictionaries are not known here"), 0;
        fail(kind_ == Kind::end ? std::string("ends where a value is expected") : fmt::format("'{}' is not expected here", token_), hint());
        return 0;
    }

    std::uint32_t word() {
        const std::size_t place = begin_;
        const std::string text(token_);
        static constexpr std::string_view kReserved[]{"lambda", "await", "yield", "import", "for", "if", "else", "and", "or", "in", "is", "not", "def", "class", "exec"};
        if (std::find(std::begin(kReserved), std::end(kReserved), text) != std::end(kReserved)) return fail(fmt::format("'{}' is not expected here", text)), 0;
        advance();
        if (text == "True" || text == "False") return constant(Value::of(text == "True"), place);
        if (text == "None") return constant({}, place);
        if (!is("(")) return name(text, place);
        const auto function = find_function(text);
        if (!function) return fail_at(place, fmt::format("the function '{}' is not known here, and nothing else is ever called", text), fmt::format("known are {}", known_functions())), 0;
        advance();
        std::vector<std::uint32_t> arguments = items(")");
        expect(")");
        return node(Op::call, arguments, place, *function);
    }

    /// "a, b, c" up to `close`, or one comprehension.
    std::vector<std::uint32_t> items(std::string_view close) {
        std::vector<std::uint32_t> all;
        comma_ = false;
        bool comma = false;
        while (!is(close) && kind_ != Kind::end) {
            if (is("*")) {
                fail("'*' does not unpack here");
                break;
            }
            all.push_back(conditional());
            if (kind_ == Kind::word && token_ == "=") fail("arguments by name are not known here");
            if (is("for") && all.size() == 1 && !comma) {
                all[0] = comprehension(all[0]);
                comma_ = true;   // what a comprehension gives is a list already
                return all;
            }
            if (!take(",")) break;
            comma = true;
        }
        comma_ = comma;
        return all;
    }

    std::uint32_t list(std::string_view close, std::size_t place) {
        const std::vector<std::uint32_t> all = items(close);
        const bool comma = comma_;
        expect(close);
        if (error_) return 0;
        const bool comprehended = all.size() == 1 && e_.nodes_[all[0]].op == Op::comprehension && comma;
        if (comprehended || (close == ")" && all.size() == 1 && !comma)) return all[0];   // a parenthesis
        return node(Op::list, all, place);
    }

    /// "for x in xs if c for y in ys": its names hide others of the same name while it runs (see free_names).
    std::uint32_t comprehension(std::uint32_t element) {
        const std::size_t place = begin_;
        std::vector<Expression::Loop> loops;
        while (!error_ && take("for")) {
            Expression::Loop loop;
            do {
                if (kind_ != Kind::word) return fail("a name is missing behind 'for'"), 0;
                loop.targets.push_back(index_of(token_));
                advance();
            } while (take(","));
            expect("in");
            loop.source = either();
            while (!error_ && take("if")) loop.filters.push_back(either());
            loops.push_back(std::move(loop));
        }
        e_.comprehensions_.push_back(std::move(loops));
        return node(Op::comprehension, {element}, place, static_cast<std::uint32_t>(e_.comprehensions_.size() - 1));
    }

    /// What the caller must give values for: every name that is met outside of the comprehensions that bind it.
    void free_names(std::uint32_t at, std::vector<std::uint32_t>& bound) {
        const Expression::Node n = e_.nodes_[at];
        if (n.op == Op::name && std::find(bound.begin(), bound.end(), n.index) == bound.end() && e_.free_[n.index] < 0) {
            e_.free_[n.index] = static_cast<std::int32_t>(e_.names_.size());
            e_.names_.push_back(e_.all_names_[n.index]);
        }
        const std::size_t before = bound.size();
        if (n.op == Op::comprehension)
            for (const Expression::Loop& loop : e_.comprehensions_[n.index]) {
                free_names(loop.source, bound);
                bound.insert(bound.end(), loop.targets.begin(), loop.targets.end());
                for (const std::uint32_t filter : loop.filters) free_names(filter, bound);
            }
        for (std::uint32_t i = 0; i < n.count; ++i) free_names(e_.children_[n.first + i], bound);
        bound.resize(before);
    }

    Expression e_;
    std::optional<Diagnostic> error_;
    std::size_t at_{}, begin_{};
    Kind kind_{Kind::end};
    std::string_view token_;
    Value literal_;
    std::uint32_t depth_{};
    std::vector<std::uint32_t> heights_;     ///< by node
    bool comma_{};
};

Result<Expression> Expression::parse(std::string text, Origin origin) { return PythonParser(std::move(text), std::move(origin)).run(); }

}  // namespace flipflop::tuning
