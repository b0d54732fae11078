// All passes over one kernel, in order. Each step has a file of its own.
#include <algorithm>
#include <bit>

#include "flipflop/passes.hpp"
#include "passes/accesses.hpp"
#include "passes/fingerprint.hpp"
#include "passes/names.hpp"
#include "passes/parameters.hpp"
#include "passes/resources.hpp"
#include "passes/source_lines.hpp"

namespace flipflop {
namespace {

static_assert(ptx::kInstructionClasses == kClassNames.size(), "the parser's classes are the contract's, in its order");

void identify(const ptx::Module& module, const ptx::Function& entry, KernelFacts& facts) {
    facts.name = std::string(entry.name);
    facts.id = kernel_id(entry.name);
    facts.demangled = demangle(facts.name);
    facts.short_name = short_name_of(facts.demangled);
    facts.module = module.name;
    facts.target = std::string(module.target);
    facts.source = source_of(module, entry);
    facts.ptx_line = entry.line;
    facts.bounds = launch_bounds_of(entry.directives);
}

InstructionTable classify(const ptx::Module& module, const ptx::Function& function, StaticMix& mix) {
    InstructionTable table;
    const std::size_t count = function.instructions.size();
    table.machine_op.reserve(count);
    table.contract_class.reserve(count);
    table.tensor_fma.reserve(count);
    for (const ptx::Instruction& i : function.instructions) {
        const ptx::Form& form = module.form(i);
        table.machine_op.push_back(machine_op_of(form, module.operands_of(i)));
        table.contract_class.push_back(static_cast<std::uint8_t>(form.instruction_class));
        table.tensor_fma.push_back(tensor_fma_of(form));
        mix.counts[table.contract_class.back()] += 1;
    }
    table.access.assign(count, -1);
    table.access2.assign(count, -1);
    return table;
}

/// What an overview has of classify() and list_accesses(): both follow from the forms, and those are few.
void count_by_form(const ptx::Module& module, const std::vector<const ptx::Function*>& functions, KernelCode& code) {
    struct Uses { std::uint32_t form{}, count{}; const ptx::Instruction* first{}; };
    std::size_t instructions = 0;
    for (const ptx::Function* function : functions) instructions += function->instructions.size();
    // A hash table as large as the code or as its forms, whichever is less: a module may have a kernel for each form.
    std::vector<Uses> uses(std::bit_ceil(2 * std::min(instructions, module.forms.size()) + 1));
    const std::size_t mask = uses.size() - 1;
    for (const ptx::Function* function : functions)
        for (const ptx::Instruction& i : function->instructions) {
            std::size_t at = i.form & mask;   // forms are numbered as they are met: neighbours stand side by side
            while (uses[at].count != 0 && uses[at].form != i.form) at = (at + 1) & mask;
            if (uses[at].count++ == 0) uses[at].form = i.form, uses[at].first = &i;
        }
    for (const Uses& use : uses) {   // sums of whole numbers: any order gives the same
        if (use.count == 0) continue;
        code.facts.mix.counts[static_cast<std::size_t>(module.forms[use.form].instruction_class)] += use.count;
        code.facts.access_count += std::uint64_t{access_sides(module, *use.first).count} * use.count;
    }
}

/// Memory operations of all functions in the order of the text.
void list_accesses(const ptx::Module& module, const std::vector<std::uint32_t>& tree, KernelCode& code) {
    std::vector<std::size_t> by_text(tree.size());
    for (std::size_t f = 0; f < tree.size(); ++f) by_text[f] = f;
    std::sort(by_text.begin(), by_text.end(), [&](std::size_t a, std::size_t b) { return tree[a] < tree[b]; });
    for (const std::size_t f : by_text) {
        const ptx::Function& function = module.functions[tree[f]];
        for (std::uint32_t i = 0; i < function.instructions.size(); ++i) {
            AccessSides sides = access_sides(module, function.instructions[i]);
            for (unsigned s = 0; s < sides.count; ++s) {
                AccessDescription& access = sides.side[s];
                access.ptx_line = function.instructions[i].line;
                access.source = source_of(module, function.instructions[i]);
                if (f != 0) access.function = std::string(function.name);
                auto& slot = s == 0 ? code.functions[f].table.access : code.functions[f].table.access2;
                slot[i] = static_cast<std::int32_t>(code.facts.accesses.size());
                code.facts.accesses.push_back(std::move(access));
            }
        }
    }
}

/// Line of the first instruction of the loop that has one (phis at its head have none); not looked for deep inside.
std::optional<SourceLine> loop_source(const ptx::Module& module, const KernelIr& ir, const Loop& loop) {
    const auto blocks = ir.blocks_of(loop);
    for (const BlockId b : blocks.first(std::min<std::size_t>(blocks.size(), 8)))
        for (std::uint32_t i = ir.block(b).begin; i < ir.block(b).end; ++i)
            if (auto line = source_of(module, ir.function->instructions[i])) return line;
    return std::nullopt;
}

/// Loops of all functions, by the line of their header; ids count in that order.
void list_loops(const ptx::Module& module, KernelCode& code) {
    struct Entry { std::uint32_t line, function, loop; };
    std::vector<Entry> entries;
    for (std::uint32_t f = 0; f < code.functions.size(); ++f) {
        const KernelIr& ir = code.functions[f].ir;
        code.functions[f].loop_index.resize(ir.loops.size());
        for (std::uint32_t l = 0; l < ir.loops.size(); ++l) {
            const std::uint32_t first = ir.block(ir.loops[l].header).begin;
            entries.push_back({ir.function->instructions[first].line, f, l});
        }
    }
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.line < b.line; });
    for (std::uint32_t e = 0; e < entries.size(); ++e) code.functions[entries[e].function].loop_index[entries[e].loop] = e;
    for (std::uint32_t e = 0; e < entries.size(); ++e) {
        const FunctionCode& function = code.functions[entries[e].function];
        const Loop& loop = function.ir.loops[entries[e].loop];
        LoopDescription d;
        d.id = "L" + std::to_string(e);
        d.ptx_line = entries[e].line;
        d.source = loop_source(module, function.ir, loop);
        d.depth = loop.depth;
        if (loop.parent != LoopId::none) d.parent = function.loop_index[static_cast<std::uint32_t>(loop.parent)];
        code.facts.loops.push_back(std::move(d));
    }
}

}  // namespace

KernelCode analyse_kernel(const ptx::Module& module, std::uint32_t entry, AnalysisDepth depth) {
    KernelCode code;
    KernelFacts& facts = code.facts;
    identify(module, module.functions[entry], facts);
    const bool full = depth == AnalysisDepth::full;
    bool incomplete = false;
    const std::vector<std::uint32_t> tree = call_tree(module, entry, incomplete);
    // A table by function for each kernel would be quadratic in a module of kernels alone: an overview goes without.
    const bool by_function = full || tree.size() > 1;
    if (by_function) code.function_of_symbol.assign(module.functions.size(), -1);
    std::vector<const ptx::Function*> functions;
    std::uint64_t unknown = 0;
    for (const std::uint32_t f : tree) {
        const ptx::Function& function = module.functions[f];
        if (by_function) code.function_of_symbol[f] = static_cast<std::int32_t>(code.functions.size());
        FunctionCode& fc = code.functions.emplace_back();
        fc.ir = build_ir(module, function, full);
        if (full) fc.table = classify(module, function, facts.mix);
        functions.push_back(&function);
        facts.instructions += static_cast<std::uint32_t>(function.instructions.size());
        unknown += function.unknown_instructions;
    }
    if (facts.instructions > 0) facts.mix.unknown_share = static_cast<double>(unknown) / facts.instructions;
    if (full) {
        facts.fingerprint = code_fingerprint(module, tree);
        list_accesses(module, tree, code);
        for (const FunctionCode& function : code.functions) settle_tensor_bytes(function, facts.accesses);
        facts.access_count = facts.accesses.size();
    } else {
        count_by_form(module, functions, code);
    }
    list_loops(module, code);
    facts.resources.complete = !incomplete;
    collect_resources(module, functions, facts);
    describe_parameters(module, code);
    if (full) estimate_registers(code, module.target_number, facts.resources);
    else estimate_registers_by_ranges(code, facts.resources);
    return code;
}

}  // namespace flipflop
