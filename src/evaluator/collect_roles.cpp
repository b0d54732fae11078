// Roles, told in the interior block: warps that ran the same copies, multiplications, waits and register changes belong together.
#include "evaluator/collect.hpp"

namespace flipflop::eval {

void Collector::add_warps(const Page& page, const BoxInfo& box) {
    if (box.sampled && box.weight > 0) return;
    const Dim3& grid = s_.launch.grid;
    const auto holds = [&](std::array<u64, 3> block) {
        block = folding_.folded(block);
        for (unsigned k = 0; k < kBlockAxes; ++k)
            if (block[k] < box.low[k] || block[k] - box.low[k] >= static_cast<u64>(s_.domain.extent[k])) return false;
        return true;
    };
    double warps = 1;
    if (!s_.cooperative)
        for (unsigned k = kBlockAxes; k < kFirstLoopAxis; ++k) warps *= static_cast<double>(s_.domain.extent[k]);
    if (holds({grid.x - 1u, grid.y - 1u, grid.z - 1u})) add_barriers(page, warps, 1);
    if (!holds(interior_block(grid))) return;
    add_barriers(page, warps, 0);
    if (!p_.has_roles) return;
    const auto units = static_cast<u32>(p_.units.size());
    std::vector<u32> duties;
    for (const u32 key : page.touched())
        if (key < p_.first_event() && p_.units[key % units].role) duties.push_back(key % units);
    std::sort(duties.begin(), duties.end());
    duties.erase(std::unique(duties.begin(), duties.end()), duties.end());
    Role& role = roles_[duties];
    role.warps += warps;
    for (const u32 key : page.touched())
        if (key < p_.first_event()) role.counts[key % units] += page.count(key).warps * warps;
}

void Collector::roles(LaunchFacts& facts) const {
    static constexpr std::pair<std::uint8_t, std::string_view> words[]{
        {duty_copies, "copies"}, {duty_multiplies, "multiplies"}, {duty_waits, "waits"}, {duty_signals, "signals"}, {duty_registers, "changes registers"}};
    if (roles_.size() < 2) return;
    for (const auto& [duties, role] : roles_) {
        RoleFacts r;
        r.warps_per_block = role.warps;
        std::uint8_t all = 0;
        for (const u32 unit : duties) {
            const Unit& u = p_.units[unit];
            all = static_cast<std::uint8_t>(all | u.role);
            if (u.registers) r.registers = u.registers;
            const u32 line = p_.functions[u.function].code->ir.function->instructions[u.role_instruction].line;
            if (!r.ptx_line || line < *r.ptx_line) r.ptx_line = line;
        }
        for (const auto& [duty, word] : words)
            if (all & duty) r.does.emplace_back(word);
        for (const auto& [unit, count] : role.counts) {
            const Unit& u = p_.units[unit];
            r.warp_instructions += count * u.instructions / role.warps;
            for (const auto& [op, n] : u.machine) r.warp_ops[op] += count * n / role.warps;
        }
        facts.roles.push_back(std::move(r));
    }
}

}  // namespace flipflop::eval
