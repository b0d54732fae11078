// A Module as PTX text again. A body is a merge of its items (instructions, labels, declarations, braces, pragmas) by
// their place in the text they came from, so that scopes and shadowing stay as they were.
#include <algorithm>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "flipflop/ptx.hpp"

namespace flipflop::ptx {
namespace {

enum class Item : std::uint8_t { close, open, registers, variable, label, pragma, instruction };

struct Placed {
    std::uint32_t offset{};
    Item item{};
    std::uint32_t index{};
};

class Printer {
public:
    explicit Printer(const Module& module) : m_(module) {}
    std::string print();

private:
    void header();
    void variable(const Symbol& symbol, std::string_view indent);
    void initialiser(const Symbol& symbol);
    void attributes(const std::vector<std::string_view>& list);
    void initial_value(const Symbol& symbol, const InitialValue& value);
    void parameter(const Symbol& symbol);
    void parameters(const std::vector<SymbolId>& list, bool is_variadic);
    void signature(const Function& function);
    void directives(const Function& function);
    void three(std::string_view word, const std::optional<std::uint32_t> (&values)[3]);
    void function(const Function& function);
    void body(const Function& function);
    void place_items(const Function& function, std::vector<Placed>& items) const;
    void registers(const Function& function, const RegisterRange& range);
    void instruction(const Function& function, std::uint32_t index);
    void operand(const Function& function, const Form& form, const Operand& operand);
    void group(const Function& function, const Form& form, const Operand& operand, char open, char close);
    void special(const Operand& operand);
    void selector(const Operand& o);
    void offset(std::int64_t value);
    void label_table(const Function& function, const Symbol& symbol);
    void locations_up_to(std::uint32_t last);
    void register_name(const Function& function, std::uint32_t id);
    std::string_view label_at(const Function& function, std::uint32_t instruction) const;
    template <class... T>
    void add(fmt::format_string<T...> format, T&&... values) {
        fmt::format_to(std::back_inserter(out_), format, std::forward<T>(values)...);
    }
    [[nodiscard]] std::uint32_t offset_of(std::string_view view) const { return static_cast<std::uint32_t>(view.data() - m_.text->data()); }

    const Module& m_;
    fmt::memory_buffer out_;
    std::uint32_t locations_printed_{};
    // The body in hand.
    std::uint32_t scope_{};
    std::unordered_multimap<std::uint32_t, std::uint32_t> labels_at_;
    std::unordered_map<std::string_view, std::vector<std::uint32_t>> labels_named_;
};

std::string_view word(Linkage linkage) {
    switch (linkage) {
        case Linkage::visible: return ".visible ";
        case Linkage::external: return ".extern ";
        case Linkage::weak: return ".weak ";
        case Linkage::common: return ".common ";
        case Linkage::none: break;
    }
    return "";
}

std::string_view directive(Space space) {
    switch (space) {
        case Space::texture: return "tex";
        case Space::surface: return "surf";
        case Space::none: return "global";
        default: return to_string(space);
    }
}

std::string_view directive(Type type) { return type == Type::other ? std::string_view("b1024") : to_string(type); }

std::string Printer::print() {
    header();
    for (const Function& f : m_.functions) {
        // Bodies and initialisers may name functions that stand further down.
        const bool named_early = !f.is_entry || !f.has_body || std::any_of(m_.symbols.begin(), m_.symbols.end(), [&](const Symbol& s) {
            return std::any_of(s.initial.begin(), s.initial.end(), [&](const InitialValue& v) { return v.address_of == f.symbol; });
        });
        if (!named_early) continue;
        signature(f);
        if (!f.has_body) directives(f);
        else if (f.directives.no_return) add(" .noreturn");
        add(";\n");
    }
    for (const Symbol& s : m_.symbols)
        if (s.kind == Symbol::Kind::variable && s.function == 0xffffffff) variable(s, "");
    // In the order of the text: a `.loc` holds until the next one.
    std::vector<const Function*> bodies;
    for (const Function& f : m_.functions)
        if (f.has_body) bodies.push_back(&f);
    std::sort(bodies.begin(), bodies.end(), [](const Function* a, const Function* b) { return a->scopes[0].begin_offset < b->scopes[0].begin_offset; });
    for (const Function* f : bodies) function(*f);
    for (const auto& [alias, target] : m_.aliases) add(".alias {}, {};\n", m_.symbol(alias).name, m_.symbol(target).name);
    locations_up_to(static_cast<std::uint32_t>(m_.locations.size()));
    for (const DebugSection& section : m_.sections) add("{}\n", section.text);
    return {out_.data(), out_.size()};
}

void Printer::header() {
    if (m_.version_major != 0) add(".version {}.{}\n", m_.version_major, m_.version_minor);
    if (!m_.target.empty()) {
        add(".target {}", m_.target);
        for (std::string_view option : m_.target_options) add(", {}", option);
        add("\n");
    }
    if (m_.version_major * 10 + m_.version_minor >= 23) add(".address_size {}\n", m_.address_size);   // older PTX has none
    for (const SourceFile& file : m_.files) {
        add(".file {} \"{}\"", file.number, file.path);
        if (file.modified) add(", {}", *file.modified);
        if (file.modified && file.bytes) add(", {}", *file.bytes);
        add("\n");
    }
    for (std::string_view text : m_.pragmas) add(".pragma \"{}\";\n", text);
}

void Printer::initial_value(const Symbol& symbol, const InitialValue& value) {
    if (value.address_of == SymbolId::none) {
        if (symbol.type == Type::f32) add("0f{:08X}", value.bits & 0xffffffff);
        else if (symbol.type == Type::f64) add("0d{:016X}", value.bits);
        else add("{}", value.bits);
        return;
    }
    const std::string_view name = m_.symbol(value.address_of).name;
    const std::string plus = value.bits != 0 ? fmt::format("+{}", static_cast<std::int64_t>(value.bits)) : std::string();
    if (value.mask_byte != 0xff) add("0x{:X}(", std::uint64_t{0xff} << (8 * value.mask_byte));
    if (value.generic) add("generic({}){}", name, plus);
    else add("{}{}", name, plus);
    if (value.mask_byte != 0xff) add(")");
}

/// Values in braces, one pair a dimension: a brace opens where the index is a multiple of what it spans.
void Printer::initialiser(const Symbol& symbol) {
    std::vector<std::uint64_t> spans;  // innermost first
    std::uint64_t span = symbol.vector;
    if (symbol.vector > 1) spans.push_back(span);
    for (std::size_t d = symbol.dimensions.size(); d-- > 0;) spans.push_back(d == 0 ? ~std::uint64_t{0} : span *= symbol.dimensions[d]);
    for (std::size_t i = 0; i < symbol.initial.size(); ++i) {
        const auto opens = static_cast<std::size_t>(std::count_if(spans.begin(), spans.end(), [&](std::uint64_t s) { return i == 0 || (s != 0 && i % s == 0); }));
        if (i != 0) add("{}, ", std::string(opens, '}'));
        add("{}", std::string(opens, '{'));
        initial_value(symbol, symbol.initial[i]);
    }
    add("{}", std::string(spans.size(), '}'));
}

void Printer::attributes(const std::vector<std::string_view>& list) {
    for (std::string_view text : list) add(".attribute({}) ", text);
}

void Printer::variable(const Symbol& symbol, std::string_view indent) {
    add("{}{}.{} ", indent, word(symbol.linkage), directive(symbol.space));
    attributes(symbol.attributes);
    add(".align {} ", symbol.alignment);
    if (symbol.vector > 1) add(".v{} ", symbol.vector);
    add(".{} {}", directive(symbol.type), symbol.name);
    for (std::uint32_t extent : symbol.dimensions) {
        if (extent == 0) add("[]");
        else add("[{}]", extent);
    }
    if (!symbol.sampler_state.empty()) add(" = {}", symbol.sampler_state);
    else if (!symbol.initial.empty()) {
        add(" = ");
        initialiser(symbol);
    }
    add(";\n");
}

void Printer::parameter(const Symbol& symbol) {
    add(".{} ", symbol.space == Space::reg ? "reg" : "param");
    attributes(symbol.attributes);
    if (!symbol.is_pointer && symbol.space != Space::reg) add(".align {} ", symbol.alignment);
    if (symbol.vector > 1) add(".v{} ", symbol.vector);
    add(".{} ", directive(symbol.type));
    if (symbol.is_pointer) {
        add(".ptr ");
        if (symbol.pointer_space != Space::generic && symbol.pointer_space != Space::none) add(".{} ", directive(symbol.pointer_space));
        if (symbol.pointer_alignment != 0) add(".align {} ", symbol.pointer_alignment);
    }
    add("{}", symbol.name);
    for (std::uint32_t extent : symbol.dimensions) {
        if (extent == 0) add("[]");
        else add("[{}]", extent);
    }
}

void Printer::parameters(const std::vector<SymbolId>& list, bool is_variadic) {
    add("(");
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (i != 0) add(", ");
        parameter(m_.symbol(list[i]));
    }
    if (is_variadic) add("{}...", list.empty() ? "" : ", ");
    add(")");
}

void Printer::signature(const Function& f) {
    add("{}.{} ", word(f.linkage), f.is_entry ? "entry" : "func");
    attributes(f.attributes);
    if (!f.returns.empty()) {
        parameters(f.returns, false);
        add(" ");
    }
    add("{}", f.name);
    parameters(f.parameters, f.is_variadic);
}

void Printer::three(std::string_view name, const std::optional<std::uint32_t> (&values)[3]) {
    if (values[0]) add("\n.{} {}, {}, {}", name, *values[0], values[1].value_or(1), values[2].value_or(1));
}

void Printer::directives(const Function& f) {
    const LaunchDirectives& d = f.directives;
    three("maxntid", d.max_threads);
    three("reqntid", d.required_threads);
    three("reqnctapercluster", d.required_cluster);
    if (d.max_cluster_rank) add("\n.maxclusterrank {}", *d.max_cluster_rank);
    if (d.min_blocks_per_sm) add("\n.minnctapersm {}", *d.min_blocks_per_sm);
    if (d.max_registers) add("\n.maxnreg {}", *d.max_registers);
    if (d.abi_preserve) add("\n.abi_preserve {}", *d.abi_preserve);
    if (d.abi_preserve_control) add("\n.abi_preserve_control {}", *d.abi_preserve_control);
    if (d.explicit_cluster) add("\n.explicitcluster");
    if (d.blocks_are_clusters) add("\n.blocksareclusters");
    if (d.no_return) add("\n.noreturn");
    for (std::string_view text : d.pragmas) add("\n.pragma \"{}\";", text);
}

void Printer::function(const Function& f) {
    signature(f);
    directives(f);
    add("\n{{\n");
    body(f);
    add("}}\n");
}

void Printer::place_items(const Function& f, std::vector<Placed>& items) const {
    for (std::uint32_t i = 0; i < f.instructions.size(); ++i) items.push_back({f.instructions[i].offset, Item::instruction, i});
    for (std::uint32_t i = 0; i < f.labels.size(); ++i) items.push_back({offset_of(f.labels[i].name), Item::label, i});
    for (std::uint32_t i = 0; i < f.body_pragmas.size(); ++i) items.push_back({offset_of(f.body_pragmas[i].text), Item::pragma, i});
    for (std::uint32_t i = 1; i < f.scopes.size(); ++i) {
        items.push_back({f.scopes[i].begin_offset, Item::open, i});
        items.push_back({f.scopes[i].end_offset, Item::close, i});
    }
    std::uint32_t parameters = 0;  // .reg parameters are declared by the signature
    for (const auto* list : {&f.returns, &f.parameters})
        for (SymbolId id : *list)
            if (m_.symbol(id).space == Space::reg && m_.symbol(id).name != "_") ++parameters;
    for (std::uint32_t i = parameters; i < f.register_ranges.size(); ++i) {
        const RegisterRange& range = f.register_ranges[i];
        if (range.count == 0) continue;
        items.push_back({offset_of(f.registers[static_cast<std::uint32_t>(range.first)].name), Item::registers, i});
    }
    for (std::uint32_t i = 0; i < f.variables.size(); ++i) items.push_back({m_.symbol(f.variables[i]).offset, Item::variable, i});
    // A register that was declared outside all functions has its name at its use: a declaration goes before it.
    std::sort(items.begin(), items.end(), [](const Placed& a, const Placed& b) { return std::tie(a.offset, a.item, a.index) < std::tie(b.offset, b.item, b.index); });
}

void Printer::body(const Function& f) {
    labels_at_.clear();
    labels_named_.clear();
    for (std::uint32_t i = 0; i < f.labels.size(); ++i) {
        labels_at_.emplace(f.labels[i].instruction, i);
        labels_named_[f.labels[i].name].push_back(i);
    }
    std::vector<Placed> items;
    place_items(f, items);
    scope_ = 0;
    for (const Placed& placed : items) {
        switch (placed.item) {
            case Item::open:
                scope_ = placed.index;
                add("{{\n");
                break;
            case Item::close:
                scope_ = f.scopes[placed.index].parent;
                add("}}\n");
                break;
            case Item::registers: registers(f, f.register_ranges[placed.index]); break;
            case Item::variable: {
                const Symbol& symbol = m_.symbol(f.variables[placed.index]);
                if (symbol.kind == Symbol::Kind::variable) variable(symbol, "\t");
                else label_table(f, symbol);
                break;
            }
            case Item::label: add("{}:\n", f.labels[placed.index].name); break;
            case Item::pragma: add("\t.pragma \"{}\";\n", f.body_pragmas[placed.index].text); break;
            case Item::instruction: instruction(f, placed.index); break;
        }
    }
}

void Printer::registers(const Function& f, const RegisterRange& range) {
    const Register& first = f.registers[static_cast<std::uint32_t>(range.first)];
    add("\t.reg ");
    if (first.vector > 1) add(".v{} ", first.vector);
    add(".{} {}", directive(first.type), first.name);
    if (range.parameterised) add("<{}>", range.count);
    add(";\n");
}

void Printer::label_table(const Function& f, const Symbol& symbol) {
    if (symbol.kind == Symbol::Kind::prototype) {
        add("{}: .callprototype {};\n", symbol.name, m_.prototypes[symbol.index]);
        return;
    }
    const LabelTable& table = m_.label_tables[symbol.index];
    const bool calls = !table.function_targets.empty();
    add("{}: .{} ", symbol.name, calls ? "calltargets" : "branchtargets");
    bool first = true;
    for (std::uint32_t target : table.instruction_targets) {
        add("{}{}", first ? "" : ", ", label_at(f, target));
        first = false;
    }
    for (SymbolId target : table.function_targets) {
        add("{}{}", first ? "" : ", ", m_.symbol(target).name);
        first = false;
    }
    add(";\n");
}

/// A label of that instruction which the scope in hand sees.
std::string_view Printer::label_at(const Function& f, std::uint32_t target) const {
    const auto [begin, end] = labels_at_.equal_range(target);
    for (auto it = begin; it != end; ++it) {
        const Label& label = f.labels[it->second];
        const auto& same_name = labels_named_.at(label.name);
        for (std::uint32_t scope = scope_;; scope = f.scopes[scope].parent) {
            if (scope == label.scope) return label.name;
            const bool hidden = std::any_of(same_name.begin(), same_name.end(), [&](std::uint32_t i) { return f.labels[i].scope == scope; });
            if (hidden || scope == 0) break;
        }
    }
    return "$missing_label";
}

void Printer::locations_up_to(std::uint32_t last) {
    for (; locations_printed_ < last; ++locations_printed_) {
        const Location& l = m_.locations[locations_printed_];
        add("\t.loc {} {} {}", l.file, l.line, l.column);
        if (!l.function_name.empty()) add(", function_name {}", l.function_name);
        if (l.inlined_at != 0) {
            const Location& at = m_.locations[l.inlined_at - 1];
            add(", inlined_at {} {} {}", at.file, at.line, at.column);
        }
        add("\n");
    }
}

void Printer::register_name(const Function& f, std::uint32_t id) {
    const Register& reg = f.registers[id];
    add("{}", reg.name);
    if (reg.number >= 0) add("{}", reg.number);
}

void Printer::instruction(const Function& f, std::uint32_t index) {
    const Instruction& i = f.instructions[index];
    if (i.location != 0) locations_up_to(i.location);
    add("\t");
    if (i.guard != RegId::none) {
        add("@{}", i.guard_negated ? "!" : "");
        register_name(f, static_cast<std::uint32_t>(i.guard));
        add(" ");
    }
    const Form& form = m_.form(i);
    add("{}", form.text);
    bool paired = false;
    bool first = true;
    for (const Operand& o : m_.operands_of(i)) {
        add("{}", first ? " " : paired ? "|" : ", ");
        operand(f, form, o);
        paired = o.paired;
        first = false;
    }
    add(";\n");
}

void Printer::group(const Function& f, const Form& form, const Operand& o, char open, char close) {
    add("{}", open);
    bool first = true;
    for (const Operand& child : m_.children_of(o)) {
        if (!first) add(", ");
        first = false;
        // The address of a tensor or texture stands in the list's own brackets.
        if (open == '[' && (child.kind == OperandKind::address_reg || child.kind == OperandKind::address_symbol || child.kind == OperandKind::address_immediate)) {
            const std::size_t before = out_.size();
            operand(f, form, child);
            std::string inner(out_.data() + before + 1, out_.size() - before - 2);
            out_.resize(before);
            add("{}", inner);
            continue;
        }
        operand(f, form, child);
    }
    add("{}", close);
}

void Printer::selector(const Operand& o) {
    constexpr std::string_view words[] = {"", ".x", ".y", ".z", ".w", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"};
    if (o.selector < std::size(words)) add("{}", words[o.selector]);
    else if (o.selector == 11 || o.selector == 12) add(".{}{}", o.selector == 11 ? 'h' : 'b', fmt::format("{:x}", o.value).substr(1));
}

void Printer::offset(std::int64_t value) {
    if (value != 0) add("+{}", value);
}

void Printer::special(const Operand& o) {
    const auto s = static_cast<Special>(o.index);
    constexpr std::string_view reserved[] = {"0", "1", "begin", "end", "cap"};
    std::string_view text = to_string(s);
    if (s == Special::envreg) add("%envreg{}", o.value);
    else if (s == Special::pm) add("%pm{}{}", o.value % 64, o.value >= 64 ? "_64" : "");
    else if (s == Special::reserved_smem) add("%reserved_smem_offset_{}", reserved[std::clamp<std::int64_t>(o.value, 0, 4)]);
    else add("{}", o.value == 4 ? text.substr(0, text.find('.')) : text);
}

void Printer::operand(const Function& f, const Form& form, const Operand& o) {
    if (o.negated) add("{}", o.kind == OperandKind::reg && f.registers[o.index].type == Type::pred ? "!" : "-");
    switch (o.kind) {
        case OperandKind::none: break;
        case OperandKind::reg:
            register_name(f, o.index);
            selector(o);
            break;
        case OperandKind::special: special(o); break;
        case OperandKind::immediate: add("{}", o.value); break;
        case OperandKind::immediate_f32: add("0f{:08X}", static_cast<std::uint64_t>(o.value) & 0xffffffff); break;
        case OperandKind::immediate_f64: add("0d{:016X}", static_cast<std::uint64_t>(o.value)); break;
        case OperandKind::symbol:
            add("{}", m_.symbol(o.symbol()).name);
            offset(o.value);
            break;
        case OperandKind::label: add("{}", label_at(f, static_cast<std::uint32_t>(o.value))); break;
        case OperandKind::address_reg:
            add("[");
            register_name(f, o.index);
            selector(o);
            offset(o.value);
            add("]");
            break;
        case OperandKind::address_symbol:
            add("[{}", m_.symbol(o.symbol()).name);
            offset(o.value);
            add("]");
            break;
        case OperandKind::address_immediate: add("[{}]", o.value); break;
        case OperandKind::vector: group(f, form, o, '{', '}'); break;
        case OperandKind::list: form.opcode == Opcode::call ? group(f, form, o, '(', ')') : group(f, form, o, '[', ']'); break;
        case OperandKind::discard: add("_"); break;
        case OperandKind::name: add("{}", o.index < m_.symbols.size() ? m_.symbol(o.symbol()).name : std::string_view("_")); break;
    }
}

}  // namespace

std::string print(const Module& module) { return Printer(module).print(); }

}  // namespace flipflop::ptx
