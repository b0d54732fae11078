#include <algorithm>

#include <fmt/format.h>

#include "parser_corpus.hpp"

namespace flipflop::testing {
namespace {

using namespace flipflop::ptx;

std::string describe_location(const Module& m, std::uint32_t index) {
    std::string out;
    for (int depth = 0; index != 0 && depth < 20; ++depth) {
        const Location& l = m.locations.at(index - 1);
        out += fmt::format("@{}:{}:{}/{}", l.file, l.line, l.column, l.function_name);
        index = l.inlined_at;
    }
    return out;
}

std::string describe_symbol(const Module& m, const Symbol& s) {
    std::string out = fmt::format("{} kind{} space{} type{} v{} link{} align{} bytes{} dims[{}] index{} ptr{}/{}/{} init[", s.name, static_cast<int>(s.kind),
                                  to_string(s.space), to_string(s.type), s.vector, static_cast<int>(s.linkage), s.alignment,
                                  s.byte_size ? std::to_string(*s.byte_size) : "?", fmt::join(s.dimensions, ","),
                                  s.kind == Symbol::Kind::parameter ? s.index : 0, s.is_pointer, to_string(s.pointer_space), s.pointer_alignment);
    for (const InitialValue& v : s.initial)
        out += fmt::format("{:x}{}{}{} ", v.bits, v.address_of != SymbolId::none ? "&" + std::string(m.symbol(v.address_of).name) : "", v.mask_byte, v.generic);
    return out + "]";
}

std::string describe_operand(const Module& m, const Function& f, const Operand& o, int depth = 0) {
    std::string out = fmt::format("{}{}{}{}", static_cast<int>(o.kind), o.negated ? "!" : "", o.selector, o.paired ? "|" : "");
    switch (o.kind) {
        case OperandKind::reg: case OperandKind::address_reg: {
            const Register& r = f.registers.at(o.index);
            return out + fmt::format(" {}{}#{}+{}", r.name, r.number, o.index, o.value);
        }
        case OperandKind::symbol: case OperandKind::address_symbol: return out + fmt::format(" {}+{}", m.symbol(o.symbol()).name, o.value);
        case OperandKind::name: return out + fmt::format(" {}", m.symbol(o.symbol()).name);
        case OperandKind::vector: case OperandKind::list:
            out += " (";
            if (depth < 10)
                for (const Operand& child : m.children_of(o)) out += describe_operand(m, f, child, depth + 1) + " ";
            return out + ")";
        default: return out + fmt::format(" {}:{}", o.index, o.value);
    }
}

std::string describe_form(const Form& form) {
    return fmt::format("{} op{} class{} {} {} {} {} space{}/{} cmp{} bool{} rnd{} v{} res{} ", form.text, static_cast<int>(form.opcode),
                       to_string(form.instruction_class), to_string(form.type), to_string(form.type2), to_string(form.type3), to_string(form.type4),
                       to_string(form.space), to_string(form.space2), static_cast<int>(form.compare), static_cast<int>(form.bool_op),
                       static_cast<int>(form.rounding), form.vector, form.results);
}

void describe_function(const Module& m, const Function& f, std::string& out) {
    const LaunchDirectives& d = f.directives;
    out += fmt::format("function {} entry{} body{} link{}\n", f.name, f.is_entry, f.has_body, static_cast<int>(f.linkage));
    for (const auto& o : {d.max_registers, d.min_blocks_per_sm, d.max_threads[0], d.max_threads[1], d.max_threads[2], d.required_threads[0], d.required_threads[1],
                          d.required_threads[2], d.required_cluster[0], d.required_cluster[1], d.required_cluster[2], d.max_cluster_rank})
        out += o ? fmt::format("{} ", *o) : "- ";
    out += fmt::format("{}{}{} pragmas[{}]\n", d.explicit_cluster, d.blocks_are_clusters, d.no_return, fmt::join(d.pragmas, "|"));
    for (const auto* list : {&f.returns, &f.parameters})
        for (SymbolId id : *list) out += "  parameter " + describe_symbol(m, m.symbol(id)) + "\n";
    for (SymbolId id : f.variables) {
        const Symbol& s = m.symbol(id);
        out += fmt::format("  variable scope{} {}\n", s.scope, describe_symbol(m, s));
        if (s.kind == Symbol::Kind::label_table) out += fmt::format("    targets {}\n", fmt::join(m.label_tables.at(s.index).instruction_targets, ","));
        if (s.kind == Symbol::Kind::prototype) out += fmt::format("    prototype {}\n", m.prototypes.at(s.index));
    }
    for (const Register& r : f.registers) out += fmt::format("  reg {}{} {} v{}\n", r.name, r.number, to_string(r.type), r.vector);
    for (const Scope& s : f.scopes) out += fmt::format("  scope {} [{},{})\n", s.parent, s.begin, s.end);
    for (const Label& l : f.labels) out += fmt::format("  label {} {} scope{}\n", l.name, l.instruction, l.scope);
    for (const BodyPragma& p : f.body_pragmas) out += fmt::format("  pragma {} {}\n", p.instruction, p.text);
    for (const Instruction& i : f.instructions) {
        out += fmt::format("  {}@{}{} {} ", describe_form(m.form(i)), i.guard_negated ? "!" : "", static_cast<std::uint32_t>(i.guard), describe_location(m, i.location));
        for (const Operand& o : m.operands_of(i)) out += describe_operand(m, f, o) + "; ";
        out += "\n";
    }
}

}  // namespace

std::string describe(const Module& m) {
    std::string out = fmt::format("version {}.{} target {} {}{} address {} options [{}] pragmas [{}]\n", m.version_major, m.version_minor, m.target, m.target_number,
                                  m.target_suffix == 0 ? '-' : m.target_suffix, m.address_size, fmt::join(m.target_options, ","), fmt::join(m.pragmas, ","));
    for (const SourceFile& file : m.files) out += fmt::format("file {} {}\n", file.number, file.path);
    for (const Symbol& s : m.symbols)
        if (s.kind == Symbol::Kind::variable && s.function == 0xffffffff) out += "variable " + describe_symbol(m, s) + "\n";
    std::vector<const Function*> functions;
    for (const Function& f : m.functions) functions.push_back(&f);
    std::sort(functions.begin(), functions.end(), [](const Function* a, const Function* b) { return a->name < b->name; });
    for (const Function* f : functions) describe_function(m, *f, out);
    for (const auto& [alias, target] : m.aliases) out += fmt::format("alias {} {}\n", m.symbol(alias).name, m.symbol(target).name);
    return out;
}

}  // namespace flipflop::testing
