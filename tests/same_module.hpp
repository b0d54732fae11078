// Owns: whether two modules mean the same, whatever their ids and the order of their symbols: what print(parse(x)) is held
// to. Input: two sound modules. Output: the first difference in words, or nothing.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "flipflop/ptx.hpp"

namespace flipflop::testing {

class ModuleComparison {
public:
    ModuleComparison(const ptx::Module& a, const ptx::Module& b) : a_(a), b_(b) {}

    [[nodiscard]] std::string difference() {
        compare_heads();
        compare_variables();
        std::map<std::string_view, const ptx::Function*> of_b;
        for (const ptx::Function& f : b_.functions) of_b.emplace(f.name, &f);
        same("functions", a_.functions.size(), b_.functions.size());
        for (const ptx::Function& f : a_.functions) {
            if (!difference_.empty()) return difference_;
            const auto found = of_b.find(f.name);
            where_ = fmt::format("function {}", f.name);
            if (found == of_b.end()) return where_ + " is missing";
            compare(f, *found->second);
        }
        return difference_;
    }

private:
    template <class T>
    bool same(std::string_view what, const T& a, const T& b) {
        if (a == b) return true;
        if (difference_.empty()) difference_ = fmt::format("{}: {} differs", where_, what);
        return false;
    }

    void compare_heads() {
        where_ = "module";
        same("version", std::pair(a_.version_major, a_.version_minor), std::pair(b_.version_major, b_.version_minor));
        same("target", a_.target, b_.target);
        same("target number", std::pair(a_.target_number, a_.target_suffix), std::pair(b_.target_number, b_.target_suffix));
        same("options", a_.target_options, b_.target_options);
        same("address size", a_.address_size, b_.address_size);
        same("pragmas", a_.pragmas, b_.pragmas);
        if (same("sections", a_.sections.size(), b_.sections.size()))
            for (std::size_t i = 0; i < a_.sections.size(); ++i) same("a section", a_.sections[i].text, b_.sections[i].text);
        same("DWARF", a_.has_dwarf, b_.has_dwarf);
        if (same("files", a_.files.size(), b_.files.size()))
            for (std::size_t i = 0; i < a_.files.size(); ++i) {
                const ptx::SourceFile &x = a_.files[i], &y = b_.files[i];
                same("a file", std::tie(x.number, x.path, x.modified, x.bytes), std::tie(y.number, y.path, y.modified, y.bytes));
            }
        if (same("aliases", a_.aliases.size(), b_.aliases.size()))
            for (std::size_t i = 0; i < a_.aliases.size(); ++i) {
                same("an alias", a_.symbol(a_.aliases[i].first).name, b_.symbol(b_.aliases[i].first).name);
                same("an alias", a_.symbol(a_.aliases[i].second).name, b_.symbol(b_.aliases[i].second).name);
            }
    }

    void compare_variables() {
        const auto list = [](const ptx::Module& m) {
            std::vector<const ptx::Symbol*> found;
            for (const ptx::Symbol& s : m.symbols)
                if (s.kind == ptx::Symbol::Kind::variable && s.function == 0xffffffff) found.push_back(&s);
            return found;
        };
        const auto x = list(a_), y = list(b_);
        if (!same("number of variables", x.size(), y.size())) return;
        for (std::size_t i = 0; i < x.size(); ++i) compare(*x[i], *y[i]);
    }

    void compare(const ptx::Symbol& x, const ptx::Symbol& y) {
        const std::string outside = std::exchange(where_, fmt::format("{}: {}", where_, x.name));
        same("name", x.name, y.name);
        same("declaration", std::tuple(x.kind, x.space, x.type, x.vector, x.linkage, x.alignment, x.byte_size),
             std::tuple(y.kind, y.space, y.type, y.vector, y.linkage, y.alignment, y.byte_size));
        same("dimensions", x.dimensions, y.dimensions);
        same("pointer", std::tuple(x.is_pointer, x.pointer_space, x.pointer_alignment), std::tuple(y.is_pointer, y.pointer_space, y.pointer_alignment));
        same("sampler state", x.sampler_state, y.sampler_state);
        same("attributes", x.attributes, y.attributes);
        if (x.kind == ptx::Symbol::Kind::parameter) same("position", x.index, y.index);
        if (same("number of values", x.initial.size(), y.initial.size()))
            for (std::size_t i = 0; i < x.initial.size(); ++i) compare(x.initial[i], y.initial[i]);
        where_ = outside;
    }

    void compare(const ptx::InitialValue& x, const ptx::InitialValue& y) {
        same("a value", std::tuple(x.bits, x.mask_byte, x.generic), std::tuple(y.bits, y.mask_byte, y.generic));
        if (!same("a value's kind", x.address_of == ptx::SymbolId::none, y.address_of == ptx::SymbolId::none) || x.address_of == ptx::SymbolId::none) return;
        same("an address", a_.symbol(x.address_of).name, b_.symbol(y.address_of).name);
    }

    void compare(const ptx::LaunchDirectives& x, const ptx::LaunchDirectives& y) {
        const auto numbers = [](const ptx::LaunchDirectives& d) {
            return std::tuple(d.max_registers, d.min_blocks_per_sm, d.max_cluster_rank, d.abi_preserve, d.abi_preserve_control, d.explicit_cluster, d.blocks_are_clusters, d.no_return);
        };
        same("a directive", numbers(x), numbers(y));
        for (std::size_t i = 0; i < 3; ++i)
            same("a block or cluster", std::tie(x.max_threads[i], x.required_threads[i], x.required_cluster[i]), std::tie(y.max_threads[i], y.required_threads[i], y.required_cluster[i]));
        same("pragmas", x.pragmas, y.pragmas);
    }

    void compare(const ptx::Function& x, const ptx::Function& y) {
        same("kind", std::tuple(x.is_entry, x.has_body, x.linkage, x.is_variadic), std::tuple(y.is_entry, y.has_body, y.linkage, y.is_variadic));
        same("attributes", x.attributes, y.attributes);
        compare(x.directives, y.directives);
        for (const auto list : {&ptx::Function::returns, &ptx::Function::parameters})
            if (same("number of parameters", (x.*list).size(), (y.*list).size()))
                for (std::size_t i = 0; i < (x.*list).size(); ++i) compare(a_.symbol((x.*list)[i]), b_.symbol((y.*list)[i]));
        if (same("number of variables", x.variables.size(), y.variables.size()))
            for (std::size_t i = 0; i < x.variables.size(); ++i) compare_local(a_.symbol(x.variables[i]), b_.symbol(y.variables[i]));
        const auto all = [&](std::string_view what, const auto& list, const auto& other, auto key) {
            if (!same(what, list.size(), other.size())) return;
            for (std::size_t i = 0; i < list.size(); ++i)
                if (!same(what, key(list[i]), key(other[i]))) return;
        };
        all("a register", x.registers, y.registers, [](const ptx::Register& r) { return std::tuple(r.name, r.number, r.type, r.vector); });
        all("a scope", x.scopes, y.scopes, [](const ptx::Scope& s) { return std::tuple(s.parent, s.begin, s.end); });
        all("a label", x.labels, y.labels, [](const ptx::Label& l) { return std::tuple(l.name, l.instruction, l.scope); });
        all("a pragma", x.body_pragmas, y.body_pragmas, [](const ptx::BodyPragma& p) { return std::tuple(p.instruction, p.text); });
        if (!same("number of instructions", x.instructions.size(), y.instructions.size())) return;
        for (std::size_t i = 0; i < x.instructions.size() && difference_.empty(); ++i) compare(x.instructions[i], y.instructions[i], i);
    }

    void compare_local(const ptx::Symbol& x, const ptx::Symbol& y) {
        compare(x, y);
        same("scope", x.scope, y.scope);
        if (!difference_.empty()) return;
        if (x.kind == ptx::Symbol::Kind::prototype) same("prototype", a_.prototypes.at(x.index), b_.prototypes.at(y.index));
        if (x.kind != ptx::Symbol::Kind::label_table) return;
        const ptx::LabelTable &t = a_.label_tables.at(x.index), &u = b_.label_tables.at(y.index);
        same("targets", t.instruction_targets, u.instruction_targets);
        if (same("targets", t.function_targets.size(), u.function_targets.size()))
            for (std::size_t i = 0; i < t.function_targets.size(); ++i) same("a target", a_.symbol(t.function_targets[i]).name, b_.symbol(u.function_targets[i]).name);
    }

    void compare(const ptx::Instruction& x, const ptx::Instruction& y, std::size_t index) {
        const ptx::Form &f = a_.form(x), &g = b_.form(y);
        const std::size_t before = difference_.size();
        same("opcode", f.text, g.text);
        same("guard", std::tuple(x.guard, x.guard_negated), std::tuple(y.guard, y.guard_negated));
        compare_places(x.location, y.location);
        if (same("number of operands", x.operand_count, y.operand_count))
            for (std::size_t i = 0; i < x.operand_count; ++i) compare(a_.operands_of(x)[i], b_.operands_of(y)[i], 0);
        if (difference_.size() != before) difference_ += fmt::format(" in instruction {}, '{}' in line {}", index, f.text, x.line);
    }

    void compare(const ptx::Operand& x, const ptx::Operand& y, int depth) {
        if (!same("an operand", std::tuple(x.kind, x.negated, x.selector, x.paired, x.kind == ptx::OperandKind::label || x.kind == ptx::OperandKind::name ? 0 : x.value),
                  std::tuple(y.kind, y.negated, y.selector, y.paired, y.kind == ptx::OperandKind::label || y.kind == ptx::OperandKind::name ? 0 : y.value)))
            return;
        const auto name = [](const ptx::Module& m, const ptx::Operand& o) { return o.index < m.symbols.size() ? m.symbol(o.symbol()).name : std::string_view(); };
        switch (x.kind) {
            case ptx::OperandKind::symbol: case ptx::OperandKind::address_symbol: case ptx::OperandKind::name: same("a name", name(a_, x), name(b_, y)); break;
            case ptx::OperandKind::label: same("a label", x.value, y.value); break;
            case ptx::OperandKind::vector: case ptx::OperandKind::list:
                if (depth < 10)
                    for (std::size_t i = 0; i < a_.children_of(x).size(); ++i) compare(a_.children_of(x)[i], b_.children_of(y)[i], depth + 1);
                break;
            case ptx::OperandKind::immediate: case ptx::OperandKind::immediate_f32: case ptx::OperandKind::immediate_f64: break;
            default: same("an operand", x.index, y.index); break;
        }
    }

    /// The whole chain of a place and what it was inlined at.
    void compare_places(std::uint32_t x, std::uint32_t y) {
        for (int depth = 0; depth < 20 && (x != 0 || y != 0); ++depth) {
            if (!same("a source line", x == 0, y == 0)) return;
            const ptx::Location &p = a_.locations.at(x - 1), &q = b_.locations.at(y - 1);
            same("a source line", std::tie(p.file, p.line, p.column, p.function_name), std::tie(q.file, q.line, q.column, q.function_name));
            x = p.inlined_at;
            y = q.inlined_at;
        }
    }

    const ptx::Module &a_, &b_;
    std::string where_, difference_;
};

/// The first difference between two modules; empty when they mean the same.
[[nodiscard]] inline std::string difference(const ptx::Module& a, const ptx::Module& b) { return ModuleComparison(a, b).difference(); }

}  // namespace flipflop::testing
