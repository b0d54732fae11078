#include "passes/resources.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/accessed.hpp"

namespace flipflop {
namespace {

using ptx::Opcode;
using ptx::OperandKind;
using ptx::Special;

/// Calls `visit` for every operand of an instruction, those inside vectors and lists included.
template <class Visit>
void for_each_operand(const ptx::Module& module, const ptx::Instruction& i, std::vector<const ptx::Operand*>& stack, Visit&& visit) {
    for (const ptx::Operand& top : module.operands_of(i)) {
        if (top.kind != OperandKind::vector && top.kind != OperandKind::list) {
            visit(top);
            continue;
        }
        stack.assign(1, &top);
        while (!stack.empty()) {
            const ptx::Operand* operand = stack.back();
            stack.pop_back();
            if (operand->kind == OperandKind::vector || operand->kind == OperandKind::list)
                for (const ptx::Operand& child : module.children_of(*operand)) stack.push_back(&child);
            else
                visit(*operand);
        }
    }
}

/// Variables by address, laid out in the order of declaration, aligned, as far as the code names them.
class Variables {
public:
    explicit Variables(const ptx::Module& module) : module_(module) {}

    void touch(ptx::SymbolId id) {
        if (id == ptx::SymbolId::none) return;
        const ptx::Symbol& symbol = module_.symbol(id);
        if (symbol.kind != ptx::Symbol::Kind::variable || !seen_.insert(static_cast<std::uint32_t>(id)).second) return;
        if (symbol.space == ptx::Space::shared && !symbol.byte_size) dynamic_ = true;
        if (symbol.space == ptx::Space::shared && symbol.byte_size) shared_.push_back(&symbol);
        if (symbol.space == ptx::Space::local && symbol.byte_size) local_.push_back(&symbol);
        for (const ptx::InitialValue& v : symbol.initial)
            if (v.address_of != ptx::SymbolId::none) pending_.push_back(v.address_of);
    }

    void settle() {
        while (!pending_.empty()) {
            const ptx::SymbolId id = pending_.back();
            pending_.pop_back();
            touch(id);
        }
    }

    [[nodiscard]] bool dynamic() const { return dynamic_; }
    [[nodiscard]] std::uint64_t shared_bytes() const { return laid_out(shared_); }
    [[nodiscard]] std::uint64_t local_bytes() const { return laid_out(local_); }

private:
    static std::uint64_t laid_out(std::vector<const ptx::Symbol*> variables) {
        std::sort(variables.begin(), variables.end(), [](const auto* a, const auto* b) { return a->offset < b->offset; });
        std::uint64_t end = 0;
        for (const ptx::Symbol* v : variables) {
            const std::uint64_t alignment = std::max<std::uint64_t>(1, v->alignment);
            const std::uint64_t bytes = *v->byte_size;
            end = (end + alignment - 1) / alignment * alignment;
            if (bytes > UINT64_MAX / 4 || end > UINT64_MAX / 4) return UINT64_MAX / 4;   // nonsense stays nonsense, not 0
            end += bytes;
        }
        return end;
    }

    const ptx::Module& module_;
    std::unordered_set<std::uint32_t> seen_;   // no table by symbol: a module may have a kernel for each
    std::vector<const ptx::Symbol*> shared_, local_;
    std::vector<ptx::SymbolId> pending_;
    bool dynamic_{};
};

/// Barriers of the block (PTX ISA 9.7.13.1): highest id, and whether any use is more than "all threads at barrier 0".
struct Barriers {
    std::uint32_t count{};
    bool named{};

    void see(const ptx::Form& form, std::span<const ptx::Operand> operands) {
        const bool arrive = form.opcode == Opcode::bar_arrive || form.has("arrive");
        const bool reduces = form.opcode == Opcode::bar_red || form.opcode == Opcode::barrier_red || form.opcode == Opcode::barrier_cta_red;
        const std::size_t first = reduces ? 1 : 0;
        if (first >= operands.size()) return;
        const ptx::Operand& id = operands[first];
        if (id.kind == OperandKind::immediate && id.value >= 0 && id.value < 16) {
            count = std::max(count, static_cast<std::uint32_t>(id.value) + 1);
            named |= id.value != 0;
        } else {
            count = 16;   // the id is in a register: ptxas reserves all of them
            named = true;
        }
        // Behind the id a reduction has a predicate; a thread count comes before it.
        const std::size_t more = operands.size() - first - 1;
        named |= arrive || more > (reduces ? 1U : 0U);
    }
};

int axis_of(Special special) {
    const auto s = static_cast<int>(special);
    return s <= static_cast<int>(Special::nctaid_z) ? s % 3 : -1;
}
static_assert(static_cast<int>(Special::tid_x) == 0 && static_cast<int>(Special::nctaid_z) == 11, "four triples come first");

bool is_cluster(Special special) {
    return special >= Special::is_explicit_cluster && special <= Special::cluster_nctarank;
}

bool is_block_barrier(Opcode opcode) {
    switch (opcode) {
    case Opcode::bar: case Opcode::bar_arrive: case Opcode::bar_red: case Opcode::barrier: case Opcode::barrier_red:
    case Opcode::barrier_cta_red: return true;
    default: return false;
    }
}

/// Does one of these functions call itself, in however many steps? How deep its stack grows is then not in the code.
bool recursive(const ptx::Module& module, const std::vector<const ptx::Function*>& functions) {
    if (functions.size() < 2) return false;      // a kernel cannot be called
    std::unordered_map<const ptx::Function*, std::unordered_set<const ptx::Function*>> callees;
    std::unordered_map<const ptx::Function*, std::size_t> callers;
    for (const ptx::Function* f : functions)
        for (const ptx::Instruction& i : f->instructions)
            if (module.form(i).opcode == Opcode::call)
                if (const ptx::Function* callee = called_function(module, i); callee != nullptr && callees[f].insert(callee).second) ++callers[callee];
    // Whoever has no callers left is taken out; a cycle never is.
    std::vector<const ptx::Function*> free{functions.front()};
    std::size_t reached = 0;
    while (!free.empty()) {
        const ptx::Function* f = free.back();
        free.pop_back();
        ++reached;
        for (const ptx::Function* callee : callees[f])
            if (--callers[callee] == 0) free.push_back(callee);
    }
    return reached < callers.size() + 1;
}

}  // namespace

void collect_resources(const ptx::Module& module, const std::vector<const ptx::Function*>& functions, KernelFacts& facts) {
    Variables variables(module);
    Barriers barriers;
    std::vector<const ptx::Operand*> stack;
    bool grid_workspace = false, grid_atomic = false, alloca = false;
    for (const ptx::Function* function : functions) {
        for (const ptx::Instruction& i : function->instructions) {
            const ptx::Form& form = module.form(i);
            for_each_operand(module, i, stack, [&](const ptx::Operand& o) {
                if (o.kind == OperandKind::symbol || o.kind == OperandKind::address_symbol) variables.touch(o.symbol());
                if (o.kind != OperandKind::special) return;
                const auto special = static_cast<Special>(o.index);
                facts.dimensions = std::max(facts.dimensions, axis_of(special) + 1);
                if (special <= Special::ntid_z) facts.block_dimensions = std::max(facts.block_dimensions, axis_of(special) + 1);
                facts.uses_cluster |= is_cluster(special);
                facts.reads_grid_size |= special >= Special::nctaid_x && special <= Special::nctaid_z;
                grid_workspace |= special == Special::envreg;
            });
            if (is_block_barrier(form.opcode)) barriers.see(form, module.operands_of(i));
            facts.uses_cluster |= form.opcode == Opcode::barrier_cluster || form.opcode == Opcode::mapa || form.opcode == Opcode::getctarank;
            grid_atomic |= form.opcode == Opcode::atom;
            alloca |= form.opcode == Opcode::alloca;
        }
    }
    variables.settle();
    facts.uses_cluster |= facts.bounds.cluster.has_value();
    // cooperative_groups::grid_group::sync counts arrivals in a workspace that the driver names in %envreg1 and %envreg2.
    facts.grid_barrier = grid_workspace && grid_atomic && barriers.count > 0;
    facts.has_named_barriers = barriers.named;
    facts.resources.static_shared_bytes = variables.shared_bytes();
    facts.resources.uses_dynamic_shared = variables.dynamic();
    facts.resources.barriers = barriers.count;
    if (!alloca && !recursive(module, functions)) facts.resources.local_bytes = variables.local_bytes();
    else facts.resources.complete = false;
}

LaunchBounds launch_bounds_of(const ptx::LaunchDirectives& d) {
    const auto dim = [](const std::optional<std::uint32_t> (&axes)[3]) -> std::optional<Dim3> {
        if (!axes[0]) return std::nullopt;
        for (const auto& axis : axes)
            if (axis == 0u) return std::nullopt;   // refused with FF0410 where it stands; it bounds nothing
        return Dim3{*axes[0], axes[1].value_or(1), axes[2].value_or(1)};
    };
    LaunchBounds bounds;
    bounds.max_block = dim(d.max_threads);
    bounds.required_block = dim(d.required_threads);
    bounds.cluster = dim(d.required_cluster);
    bounds.min_blocks_per_sm = d.min_blocks_per_sm;
    bounds.max_registers = d.max_registers;
    // Only the product of .maxntid binds (PTX ISA 11.4.2); .reqntid implies it.
    const std::optional<Dim3> most = bounds.max_block ? bounds.max_block : bounds.required_block;
    if (most) bounds.max_threads = static_cast<std::uint32_t>(std::min<std::uint64_t>(most->count(), UINT32_MAX));
    return bounds;
}

std::vector<std::uint32_t> call_tree(const ptx::Module& module, std::uint32_t entry, bool& incomplete) {
    std::unordered_set<std::uint32_t> seen{entry};
    std::vector<std::uint32_t> found, work{entry};
    while (!work.empty()) {
        const std::uint32_t f = work.back();
        work.pop_back();
        found.push_back(f);
        for (const ptx::Instruction& i : module.functions[f].instructions) {
            if (module.form(i).opcode != Opcode::call) continue;
            const ptx::Function* callee = called_function(module, i);
            if (callee == nullptr || !callee->has_body) {
                // printf, malloc and assert are the driver's; they need a stack, but not the kernel's registers.
                const bool system = callee != nullptr && (callee->name == "vprintf" || callee->name == "__assertfail" ||
                                                          callee->name == "malloc" || callee->name == "free");
                incomplete |= !system;
                continue;
            }
            const auto index = static_cast<std::uint32_t>(callee - module.functions.data());
            if (seen.insert(index).second) work.push_back(index);
        }
    }
    std::sort(found.begin(), found.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::pair(a != entry, a) < std::pair(b != entry, b);
    });
    return found;
}

std::vector<std::uint32_t> callees_first(const ptx::Module& module, const KernelCode& code) {
    struct Frame { std::uint32_t function; std::size_t next; };
    if (code.functions.size() == 1) return {0};
    std::vector<std::uint32_t> order;
    std::vector<bool> seen(code.functions.size());
    std::vector<Frame> stack{{0, 0}};
    seen[0] = true;
    while (!stack.empty()) {
        Frame& top = stack.back();
        const auto& instructions = code.functions[top.function].ir.function->instructions;
        if (top.next == instructions.size()) {
            order.push_back(top.function);
            stack.pop_back();
            continue;
        }
        const ptx::Instruction& i = instructions[top.next++];
        if (module.form(i).opcode != ptx::Opcode::call) continue;
        const ptx::Function* callee = called_function(module, i);
        if (callee == nullptr) continue;
        const std::int32_t f = code.function_of_symbol[static_cast<std::size_t>(callee - module.functions.data())];
        if (f < 0 || seen[static_cast<std::size_t>(f)]) continue;
        seen[static_cast<std::size_t>(f)] = true;
        stack.push_back({static_cast<std::uint32_t>(f), 0});
    }
    return order;
}

}  // namespace flipflop
