#include "trials.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flipflop::advise {

namespace {

std::optional<std::uint32_t> threads_bound(const Stage& stage) {
    const LaunchBounds& bounds = stage.facts->code().facts.bounds;
    if (stage.options.ignore_launch_bounds) return std::nullopt;
    if (bounds.required_block) return static_cast<std::uint32_t>(bounds.required_block->count());
    return bounds.max_threads;
}

Names names_for(const Stage& stage, Dim3 block, std::uint32_t blocks_per_sm) {
    const Subject& subject = stage.facts->subject();
    Names names = subject.names;
    add_shape_names(block, subject.cluster, subject.rule.work, names);
    names.insert_or_assign("gpu.sms", Number{static_cast<std::int64_t>(stage.gpu->sm_count())});
    names.insert_or_assign("regs", Number{static_cast<std::int64_t>(stage.resources.registers_per_thread)});
    names.insert_or_assign("blocks_per_sm", Number{static_cast<std::int64_t>(blocks_per_sm)});
    return names;
}

/// Bytes by --dynamic-smem. blocks_per_sm is not known yet where it is asked for: that would be circular.
Result<std::uint64_t> dynamic_bytes(const Stage& stage, Dim3 block) {
    const Subject& subject = stage.facts->subject();
    if (!subject.dynamic_smem) return std::uint64_t{0};
    Names names = names_for(stage, block, 0);
    names.erase("blocks_per_sm");
    return subject.dynamic_smem->evaluate_count(names, 0);
}

/// Of a block that no launch can have: what it would take, as far as that is known. A rule without an answer leaves no grid.
void describe_unlaunchable(const Stage& stage, Trial& trial, std::optional<Dim3> own_grid) {
    const Subject& subject = stage.facts->subject();
    trial.occupancy = occupancy(stage.gpu->cc, occupancy_input(stage, trial.block, 0));
    trial.grid = own_grid.value_or(Dim3{0, 0, 0});
    if (own_grid) return;
    Names names = names_for(stage, trial.block, 0);
    names.erase("blocks_per_sm");
    if (const auto answer = grid_of(subject.rule, trial.block, subject.cluster, names); answer && answer->grid) trial.grid = *answer->grid;
}

/// Where a search has less than the book's budget for each launch, a block has it by its warps: where they are followed
/// together all are cut after the same number of steps, and blocks remain comparable.
std::optional<std::uint64_t> budget_for(const Stage& stage, Dim3 block) {
    if (!stage.budget) return std::nullopt;
    const std::uint64_t warps = std::clamp<std::uint64_t>((block.count() + 31) / 32, 1, 32);
    return std::max<std::uint64_t>(1, *stage.budget * warps / 8);
}

void refuse(Trial& trial, std::string reason, std::string words) {
    trial.launchable = false;
    if (trial.obstacle.reason.empty()) trial.obstacle = {std::move(reason), std::move(words)};
}

/// Grid and, where it is left open, dynamic shared memory: the highest byte touched, rounded up to 16, which in turn may
/// change the occupancy that a grid expression asks for. Two rounds settle it: the bytes depend on the block alone in
/// every kernel that indexes its shared memory by thread; one that does not keeps the second answer.
void settle(const Stage& stage, Trial& trial, std::optional<Dim3> own_grid, bool want_facts) {
    const Subject& subject = stage.facts->subject();
    const bool open = stage.resources.uses_dynamic_shared && !subject.dynamic_smem;
    for (int round = 0; round < 2; ++round) {
        trial.occupancy = occupancy(stage.gpu->cc, occupancy_input(stage, trial.block, trial.dynamic_shared_bytes));
        GridAnswer answer{own_grid, {}};
        if (!own_grid) {
            const auto found = grid_of(subject.rule, trial.block, subject.cluster, names_for(stage, trial.block, std::max(1u, trial.occupancy.active_blocks_per_sm)));
            if (!found) {
                // No whole block of work left (FF0744) is a block that cannot be; no answer at all is a wrong expression.
                (found.error().id == "FF0744" ? trial.no_grid : trial.broken) = found.error();
                trial.grid = {0, 0, 0};
                return refuse(trial, "grid", found.error().file + ": " + found.error().message);
            }
            answer = *found;
        }
        if (!answer.grid) {
            trial.grid = {0, 0, 0};
            return refuse(trial, "grid", answer.why_not);
        }
        trial.grid = *answer.grid;
        if (!open || round == 1) break;
        std::uint64_t settled = 0;
        (void)stage.facts->facts_settling(trial.block, trial.grid, settled, budget_for(stage, trial.block));
        if (settled == 0) break;
        trial.dynamic_shared_bytes = settled;
    }
    if (trial.occupancy.active_blocks_per_sm == 0)
        refuse(trial, trial.occupancy.limiters.empty() ? "resources" : trial.occupancy.limiters.front(),
               trial.occupancy.why_not.empty() ? "no block fits on a multiprocessor" : trial.occupancy.why_not);
    const bool cooperative = stage.options.cooperative || stage.facts->code().facts.grid_barrier;
    const double room = trial.occupancy.active_blocks_per_sm * stage.gpu->sm_count();
    if (cooperative && static_cast<double>(trial.grid.count()) > room)
        refuse(trial, "cooperative", fmt::format("{} blocks wait for each other, {} can be resident", trial.grid.count(), room));
    if (trial.launchable || want_facts) trial.facts = stage.facts->facts(trial.block, trial.grid, trial.dynamic_shared_bytes, {}, budget_for(stage, trial.block));
}

}  // namespace

OccupancyInput occupancy_input(const Stage& stage, Dim3 block, std::uint64_t dynamic_shared_bytes) {
    OccupancyInput input;
    input.block_threads = static_cast<std::uint32_t>(std::min<std::uint64_t>(block.count(), 0xffffffffu));
    input.registers_per_thread = stage.resources.registers_per_thread;
    input.static_shared_bytes = stage.resources.static_shared_bytes;
    input.dynamic_shared_bytes = dynamic_shared_bytes;
    input.barriers = stage.resources.barriers.value_or(1);
    input.carveout_percent = stage.options.carveout_percent;
    input.kernel_max_threads = threads_bound(stage);
    if (const auto& cluster = stage.facts->subject().cluster) input.cluster_blocks = static_cast<std::uint32_t>(cluster->count());
    return input;
}

Trial try_block(const Stage& stage, Dim3 block, std::optional<Dim3> own_grid, bool always_facts) {
    const KernelFacts& kernel = stage.facts->code().facts;
    Trial trial;
    trial.block = block;
    trial.launchable = true;
    if (!stage.code.compatible) refuse(trial, "architecture", stage.code.why_not);
    if (const auto o = block_obstacle(kernel, block, stage.options.ignore_launch_bounds)) {
        refuse(trial, o->reason, o->words);
        if (o->reason == "block_size" || !always_facts) {
            describe_unlaunchable(stage, trial, own_grid);
            return trial;
        }
    }
    if (const auto o = cluster_obstacle(kernel, stage.facts->subject().cluster, stage.gpu->cc)) refuse(trial, o->reason, o->words);
    const auto bytes = dynamic_bytes(stage, block);
    if (!bytes) {
        trial.broken = bytes.error();
        refuse(trial, "dynamic_smem", bytes.error().message);
        return trial;
    }
    trial.dynamic_shared_bytes = *bytes;
    settle(stage, trial, own_grid, always_facts);
    if (!stage.facts->brief() && trial.launchable && trial.facts && trial.facts->unknown_branches > 0 && !stage.facts->subject().policy.taken_probability) {
        trial.taken = stage.facts->facts(trial.block, trial.grid, trial.dynamic_shared_bytes, 1.0, budget_for(stage, trial.block));
        trial.not_taken = stage.facts->facts(trial.block, trial.grid, trial.dynamic_shared_bytes, 0.0, budget_for(stage, trial.block));
    }
    return trial;
}

Prediction predict(const Stage& stage, const Trial& trial, const LaunchFacts& facts, const OperatingPoint& point) {
    const KernelFacts& kernel = stage.facts->code().facts;
    const ResourceUse use{stage.resources, trial.dynamic_shared_bytes, trial.occupancy};
    Prediction prediction;
    PowerResult power = estimate_power(kernel, facts, use, *stage.model, point);
    prediction.power_unknown = std::move(power.why);
    if (power.estimate) {
        prediction.time = power.estimate->time;
        prediction.power = std::move(power.estimate);
    } else {
        prediction.time = estimate_time(kernel, facts, use, *stage.model, point);
    }
    return prediction;
}

Dim3 heuristic_block(const Stage& stage) {
    const KernelFacts& kernel = stage.facts->code().facts;
    if (kernel.bounds.required_block && !stage.options.ignore_launch_bounds) return *kernel.bounds.required_block;
    const OccupancyInput input = occupancy_input(stage, {1, 1, 1}, 0);
    const std::uint32_t threads = max_potential_block_size(stage.gpu->cc, input, [&](std::uint32_t size) {
        return dynamic_bytes(stage, {size, 1, 1}).value_or(0);
    });
    return {std::max(1u, threads), 1, 1};
}

}  // namespace flipflop::advise
