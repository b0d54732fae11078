// Loops of a function, instruction by instruction, from dominator sets in their textbook form.
#include <algorithm>

#include "naive_machine.hpp"

namespace naive {

using flipflop::ptx::Form;
using flipflop::ptx::Opcode;

namespace {

/// Successors of one instruction, as instruction indices (n = the end).
std::vector<std::uint32_t> successors(const Module& module, const Function& function, std::uint32_t i) {
    const Instruction& instruction = function.instructions[i];
    const Form& form = module.form(instruction);
    std::vector<std::uint32_t> next;
    const bool guarded = instruction.guard != flipflop::ptx::RegId::none;
    if (form.opcode == Opcode::bra) {
        if (guarded) next.push_back(i + 1);
        next.push_back(static_cast<std::uint32_t>(module.operands_of(instruction)[0].value));
    } else if (form.opcode == Opcode::brx_idx) {
        for (const auto& table : module.label_tables)
            if (&table == &module.label_tables[module.symbol(module.operands_of(instruction)[1].symbol()).index])
                next.assign(table.instruction_targets.begin(), table.instruction_targets.end());
    } else if (form.opcode == Opcode::ret || form.opcode == Opcode::exit_ || form.opcode == Opcode::trap) {
        if (guarded) next.push_back(i + 1);
    } else {
        next.push_back(i + 1);
    }
    return next;
}

}  // namespace

Loops find_loops(const Module& module, const Function& function) {
    const auto n = static_cast<std::uint32_t>(function.instructions.size());
    std::vector<std::vector<std::uint32_t>> next(n), previous(n);
    for (std::uint32_t i = 0; i < n; ++i)
        for (const std::uint32_t s : successors(module, function, i))
            if (s < n) {
                next[i].push_back(s);
                previous[s].push_back(i);
            }
    std::vector<std::vector<bool>> dominated_by(n, std::vector<bool>(n, true));
    if (n) dominated_by[0].assign(n, false), dominated_by[0][0] = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (std::uint32_t i = 1; i < n; ++i) {
            std::vector<bool> now(n, !previous[i].empty());
            for (const std::uint32_t p : previous[i])
                for (std::uint32_t k = 0; k < n; ++k) now[k] = now[k] && dominated_by[p][k];
            now[i] = true;
            if (now != dominated_by[i]) {
                dominated_by[i] = std::move(now);
                changed = true;
            }
        }
    }
    std::map<std::uint32_t, std::vector<bool>> by_header;
    for (std::uint32_t i = 0; i < n; ++i)
        for (const std::uint32_t s : next[i]) {
            if (!dominated_by[i][s]) continue;
            auto& holds = by_header.try_emplace(s, std::vector<bool>(n, false)).first->second;
            holds[s] = true;
            std::vector<std::uint32_t> work{i};
            while (!work.empty()) {
                const std::uint32_t at = work.back();
                work.pop_back();
                if (holds[at]) continue;
                holds[at] = true;
                for (const std::uint32_t p : previous[at]) work.push_back(p);
            }
        }
    Loops result;
    for (auto& [header, holds] : by_header) result.loops.push_back({header, holds, static_cast<std::uint32_t>(std::count(holds.begin(), holds.end(), true))});
    std::stable_sort(result.loops.begin(), result.loops.end(), [](const auto& a, const auto& b) { return a.size > b.size; });
    result.around.resize(n + 1);
    for (std::uint32_t l = 0; l < result.loops.size(); ++l)
        for (std::uint32_t i = 0; i < n; ++i)
            if (result.loops[l].holds[i]) result.around[i].push_back(l);
    return result;
}

}  // namespace naive
