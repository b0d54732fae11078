#include "passes/block_scheduler.hpp"

#include <algorithm>

namespace flipflop {
namespace {

using ptx::OperandKind;
constexpr std::uint32_t kNone = 0xffffffff;

/// A predicate holds one condition from its comparison to the last instruction that it guards; there are seven (P0 to P6).
constexpr std::uint32_t kPredicates = 6;   // one is left for what the block itself decides

enum class Memory : std::uint8_t { none, load_shared, store_shared, load_global, store_global, read_only, all };

Memory memory_kind(const ptx::Form& form) {
    switch (form.instruction_class) {
    case ptx::InstructionClass::barrier: case ptx::InstructionClass::fence: case ptx::InstructionClass::atomic:
    case ptx::InstructionClass::async_copy: return Memory::all;
    default: break;
    }
    if (form.opcode == ptx::Opcode::call || form.is_volatile) return Memory::all;
    if (!form.reads_memory && !form.writes_memory) return Memory::none;
    if (form.space == ptx::Space::param || form.space == ptx::Space::constant || form.space == ptx::Space::texture || form.has("nc"))
        return Memory::read_only;
    const bool shared = form.space == ptx::Space::shared;
    if (form.writes_memory) return shared ? Memory::store_shared : Memory::store_global;
    return shared ? Memory::load_shared : Memory::load_global;
}

}  // namespace

BlockScheduler::BlockScheduler(const PressureModel& model)
    : model_(model), last_def_(model.stamp_.size()), def_round_(model.stamp_.size()), unread_(model.stamp_.size()),
      unread_round_(model.stamp_.size()), out_round_(model.stamp_.size()),
      entered_round_(model.stamp_.size()), readers_(model.stamp_.size()) {}

void BlockScheduler::edge(std::uint32_t from, std::uint32_t to, bool needs_result) {
    successors_[from - first_].push_back({to, needs_result ? model_.nodes_[from].latency : std::uint32_t{0}});
    ++waiting_[to - first_];
}

BlockScheduler::Reference BlockScheduler::reference(std::uint32_t node) const {
    const ptx::Instruction& i = model_.ir_.function->instructions[model_.nodes_[node].instruction];
    const ptx::Form& form = model_.module_.form(i);
    Reference r;
    r.node = node;
    r.base = kNone;
    r.bytes = form.vector * ptx::bits_of(form.type) / 8;
    for (const ptx::Operand& o : model_.module_.operands_of(i)) {
        if (o.kind != OperandKind::address_reg && o.kind != OperandKind::address_symbol) continue;
        // Symbols and registers share one number space for comparison; registers come first.
        r.base = o.kind == OperandKind::address_reg ? model_.classes_.representative[o.index]
                                                    : static_cast<std::uint32_t>(model_.stamp_.size()) + o.index;
        r.offset = o.value;
        break;
    }
    return r;
}

void BlockScheduler::connect_memory(std::uint32_t node) {
    const ptx::Instruction& i = model_.ir_.function->instructions[model_.nodes_[node].instruction];
    if (model_.nodes_[node].synthetic) return;
    const Memory kind = memory_kind(model_.module_.form(i));
    if (kind == Memory::none || kind == Memory::read_only) return;
    if (kind == Memory::all) {
        for (Queue* q : {&shared_, &global_}) {
            for (const Reference& s : q->stores) edge(s.node, node);
            for (const std::uint32_t l : q->loads) edge(l, node);
            q->stores.clear();
            q->loads.clear();
        }
        if (fence_ != kNone) edge(fence_, node);
        fence_ = node;
        return;
    }
    if (fence_ != kNone) edge(fence_, node);
    const bool store = kind == Memory::store_shared || kind == Memory::store_global;
    Queue& q = kind == Memory::store_shared || kind == Memory::load_shared ? shared_ : global_;
    const Reference here = reference(node);
    if (!store) {
        // Apart only when both are off the same base and do not overlap, as ptxas can tell.
        std::size_t looked = 0;
        for (auto it = q.stores.rbegin(); it != q.stores.rend() && looked < 16; ++it, ++looked) {
            const bool apart = it->base != kNone && it->base == here.base &&
                               (it->offset + it->bytes <= here.offset || here.offset + here.bytes <= it->offset);
            if (apart) continue;
            edge(it->node, node);
            break;
        }
        q.loads.push_back(node);
        return;
    }
    for (const std::uint32_t l : q.loads) edge(l, node);
    q.loads.clear();
    if (!q.stores.empty()) edge(q.stores.back().node, node);
    q.stores.push_back(here);
}

/// No more sides of branches are under way than there are predicates.
void BlockScheduler::wait_for_predicate(std::uint32_t node, std::vector<std::uint32_t>& ends_of_sides) {
    const std::uint32_t side = model_.nodes_[node].side;
    if (side == 0) return;
    if (ends_of_sides.size() < side) ends_of_sides.resize(side, kNone);
    ends_of_sides[side - 1] = node;
    if (side > kPredicates && ends_of_sides[side - 1 - kPredicates] != kNone) edge(ends_of_sides[side - 1 - kPredicates], node);
}

void BlockScheduler::connect(std::uint32_t begin, std::uint32_t end) {
    const std::uint32_t count = end - begin;
    first_ = begin;
    successors_.resize(std::max<std::size_t>(successors_.size(), count));
    for (std::uint32_t k = 0; k < count; ++k) successors_[k].clear();
    waiting_.assign(count, 0);
    ++round_;
    shared_ = global_ = Queue{};
    fence_ = kNone;
    std::vector<std::uint32_t> ends_of_sides;   // by side, from 1
    for (std::uint32_t node = begin; node < end; ++node) {
        const auto& n = model_.nodes_[node];
        wait_for_predicate(node, ends_of_sides);
        for (const std::uint32_t v : model_.uses(n)) {
            if (def_round_[v] != round_) {
                def_round_[v] = round_;
                last_def_[v] = kNone;
                readers_[v].clear();
            }
            if (last_def_[v] != kNone) edge(last_def_[v], node, true);
            readers_[v].push_back(node);
        }
        for (const std::uint32_t v : model_.defs(n)) {
            if (def_round_[v] == round_) {
                for (const std::uint32_t r : readers_[v])
                    if (r != node) edge(r, node);
                if (last_def_[v] != kNone && readers_[v].empty()) edge(last_def_[v], node);
            }
            def_round_[v] = round_;
            last_def_[v] = node;
            readers_[v].clear();
        }
        connect_memory(node);
    }
    // Control leaves at the end: whatever has no successor comes before the last branch.
    const std::uint32_t last = end - 1;
    if (!ends_block(model_.module_, model_.ir_.function->instructions[model_.nodes_[last].instruction])) return;
    for (std::uint32_t node = begin; node < last; ++node)
        if (successors_[node - first_].empty()) edge(node, last);
}

void BlockScheduler::set_heights(std::uint32_t begin, std::uint32_t end) {
    height_.assign(end - begin, 0);
    for (std::uint32_t node = end; node-- > begin;) {
        std::uint32_t most = 0;
        for (const Edge& e : successors_[node - first_]) most = std::max(most, height_[e.to - first_] + e.latency);
        height_[node - first_] = most + 1;
    }
}

std::int32_t BlockScheduler::growth(std::uint32_t node) const {
    const auto& n = model_.nodes_[node];
    std::int32_t change = 0;
    for (const std::uint32_t v : model_.defs(n)) change += model_.classes_.width[v];
    for (const std::uint32_t v : model_.uses(n))
        if (unread_[v] == 1 && out_round_[v] != round_) change -= model_.classes_.width[v];
    return change;
}

void BlockScheduler::issue(std::uint32_t node) {
    alive_ += growth(node);
    order_.push_back(node);
    for (const std::uint32_t v : model_.uses(model_.nodes_[node])) --unread_[v];
}

std::span<const std::uint32_t> BlockScheduler::order(std::uint32_t begin, std::uint32_t end, const std::vector<std::uint32_t>& live_out,
                                                     std::uint32_t limit) {
    connect(begin, end);
    set_heights(begin, end);
    order_.clear();
    alive_ = 0;
    for (const std::uint32_t v : live_out) out_round_[v] = round_;
    // Values alive on entry: read before any definition here, or passing through.
    const auto enters = [&](std::uint32_t v) {
        if (entered_round_[v] == round_) return;
        entered_round_[v] = round_;
        alive_ += model_.classes_.width[v];
    };
    for (std::uint32_t node = begin; node < end; ++node) {
        for (const std::uint32_t v : model_.uses(model_.nodes_[node])) {
            enters(v);
            if (unread_round_[v] != round_) unread_[v] = 0;
            unread_round_[v] = round_;
            ++unread_[v];
        }
        for (const std::uint32_t v : model_.defs(model_.nodes_[node])) entered_round_[v] = round_;
    }
    for (const std::uint32_t v : live_out) enters(v);
    return choose(begin, end, limit);
}

/// One instruction is issued a step. What waits for the result of a load is not ready before it has come, so that
/// independent work (the addresses of later stores above all) moves up into the gap, as it does in SASS.
std::span<const std::uint32_t> BlockScheduler::choose(std::uint32_t begin, std::uint32_t end, std::uint32_t limit) {
    using Entry = std::pair<std::uint32_t, std::uint32_t>;
    std::set<Entry> ready, pending;   // (inverted height, node): most urgent first; (time, node): earliest first
    ready_at_.assign(end - begin, 0);
    std::uint32_t clock = 0;
    for (std::uint32_t node = begin; node < end; ++node)
        if (waiting_[node - first_] == 0) ready.emplace(~height_[node - first_], node);
    while (!ready.empty() || !pending.empty()) {
        const bool tight = alive_ >= static_cast<std::int64_t>(limit);
        while (!pending.empty() && (tight || pending.begin()->first <= clock || ready.empty())) {
            clock = tight ? clock : std::max(clock, pending.begin()->first);
            const std::uint32_t node = pending.begin()->second;
            pending.erase(pending.begin());
            ready.emplace(~height_[node - first_], node);
        }
        auto pick = ready.begin();
        if (tight) {
            std::int32_t least = growth(pick->second);
            std::size_t looked = 0;
            for (auto it = ready.begin(); it != ready.end() && looked < 64; ++it, ++looked) {
                const std::int32_t change = growth(it->second);
                if (change < least || (change == least && it->second < pick->second)) {
                    least = change;
                    pick = it;
                }
            }
        }
        const std::uint32_t node = pick->second;
        ready.erase(pick);
        issue(node);
        clock += 2;
        for (const Edge& e : successors_[node - first_]) {
            std::uint32_t& at = ready_at_[e.to - first_];
            at = std::max(at, clock + e.latency);
            if (--waiting_[e.to - first_] == 0) pending.emplace(at, e.to);
        }
    }
    return order_;
}

void BlockScheduler::visit(std::uint32_t root) {
    path_.clear();
    const auto enter = [&](std::uint32_t node) {
        if (visited_[node - first_] != 0) return;
        visited_[node - first_] = 1;
        path_.emplace_back(node, 0);
    };
    enter(root);
    while (!path_.empty()) {
        auto& [node, looked] = path_.back();
        const auto& before = predecessors_[node - first_];
        if (looked < before.size()) {
            enter(before[looked++]);
            continue;
        }
        order_.push_back(node);
        path_.pop_back();
    }
}

std::span<const std::uint32_t> BlockScheduler::on_demand(std::uint32_t begin, std::uint32_t end, const std::vector<std::uint32_t>& live_out) {
    connect(begin, end);
    predecessors_.resize(std::max<std::size_t>(predecessors_.size(), end - begin));
    for (std::uint32_t k = 0; k < end - begin; ++k) predecessors_[k].clear();
    for (std::uint32_t node = begin; node < end; ++node)
        for (const Edge& e : successors_[node - first_]) predecessors_[e.to - first_].push_back(node);
    for (const std::uint32_t v : live_out) out_round_[v] = round_;
    visited_.assign(end - begin, 0);
    order_.clear();
    for (std::uint32_t node = begin; node < end; ++node) {
        const auto defs = model_.defs(model_.nodes_[node]);
        const bool lasting = std::any_of(defs.begin(), defs.end(), [&](std::uint32_t v) { return out_round_[v] == round_; });
        if (defs.empty() || lasting) visit(node);
    }
    for (std::uint32_t node = begin; node < end; ++node) visit(node);
    return order_;
}

}  // namespace flipflop
