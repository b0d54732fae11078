// Where residency changes: the nearest register count, shared size and block size at which an SM gains or loses blocks.
#include <algorithm>
#include <cstdio>

#include "occupancy_limits.hpp"

namespace flipflop {
namespace {

std::string percent(double fraction) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g %%", fraction * 100);
    return text;
}

std::string describe(const Occupancy& now) {
    if (now.active_blocks_per_sm == 0) {
        return "0 blocks: cannot launch";
    }
    return std::to_string(now.active_blocks_per_sm) + (now.active_blocks_per_sm == 1 ? " block, " : " blocks, ") +
           std::to_string(now.active_warps_per_sm) + " warps, " + percent(now.fraction);
}

class CliffSearch {
public:
    CliffSearch(const SmLimits& sm, const OccupancyInput& input) : sm_(sm), in_(input), now_(occupancy(sm, input)) {}

    std::vector<OccupancyCliff> run() {
        registers();
        shared();
        block();
        return std::move(cliffs_);
    }

private:
    void add(const char* what, std::uint64_t from, std::uint64_t to, const Occupancy& then) {
        cliffs_.push_back({std::string(what) + " " + std::to_string(from) + " -> " + std::to_string(to), describe(then)});
    }

    void registers() {
        auto in = in_;
        for (auto r = in_.registers_per_thread; r-- > 1;) {   // a kernel without registers is none to aim for
            in.registers_per_thread = r;
            if (const auto then = occupancy(sm_, in); then.active_blocks_per_sm > now_.active_blocks_per_sm) {
                add("registers", in_.registers_per_thread, r, then);
                break;
            }
        }
        for (auto r = in_.registers_per_thread + 1; r <= 256; ++r) {
            in.registers_per_thread = r;
            if (const auto then = occupancy(sm_, in); then.active_blocks_per_sm < now_.active_blocks_per_sm) {
                add("registers", in_.registers_per_thread, r, then);
                break;
            }
        }
    }

    /// The kernel with `bytes` of shared memory in all: dynamic memory gives way first.
    [[nodiscard]] OccupancyInput with_shared(std::uint64_t bytes) const {
        auto in = in_;
        in.static_shared_bytes = std::min(in_.static_shared_bytes, bytes);
        in.dynamic_shared_bytes = bytes - in.static_shared_bytes;
        return in;
    }

    void shared() {
        const auto bytes = in_.static_shared_bytes + in_.dynamic_shared_bytes;
        const auto step = sm_.shared_granularity;
        // The largest request of an allocation of n units is n * step less the driver's reserve.
        const auto start = std::min(bytes, sm_.shared_per_sm);
        for (auto units = (start + sm_.shared_reserved + step - 1) / step + 1; units-- > 0;) {
            if (units * step < sm_.shared_reserved) {
                break;
            }
            const auto request = units * step - sm_.shared_reserved;
            if (request >= bytes) {
                continue;
            }
            if (const auto then = occupancy(sm_, with_shared(request)); then.active_blocks_per_sm > now_.active_blocks_per_sm) {
                add("shared bytes", bytes, request, then);
                break;
            }
        }
        for (auto units = (bytes + sm_.shared_reserved + step - 1) / step; units * step <= sm_.shared_per_sm + step; ++units) {
            const auto next = units * step + 1;
            if (next <= sm_.shared_reserved + bytes) {
                continue;
            }
            const auto request = next - sm_.shared_reserved;
            if (const auto then = occupancy(sm_, with_shared(request)); then.active_blocks_per_sm < now_.active_blocks_per_sm) {
                add("shared bytes", bytes, request, then);
                break;
            }
        }
    }

    /// Block sizes are compared by resident warps: fewer, larger blocks are no loss.
    void block() {
        const auto warp = static_cast<std::uint32_t>(sm_.warp_size);
        const auto try_block = [&](std::uint32_t threads) {
            auto in = in_;
            in.block_threads = threads;
            const auto then = occupancy(sm_, in);
            if (then.active_warps_per_sm > now_.active_warps_per_sm) {
                add("block", in_.block_threads, threads, then);
                return true;
            }
            return false;
        };
        for (auto threads = (in_.block_threads - 1) / warp * warp; threads > 0; threads -= warp) {
            if (try_block(threads)) {
                break;
            }
        }
        for (auto threads = (in_.block_threads / warp + 1) * warp; threads <= sm_.max_threads_per_block; threads += warp) {
            if (try_block(threads)) {
                break;
            }
        }
    }

    const SmLimits& sm_;
    const OccupancyInput& in_;
    Occupancy now_;
    std::vector<OccupancyCliff> cliffs_;
};

}  // namespace

std::vector<OccupancyCliff> nearest_cliffs(const ComputeCapability& cc, const OccupancyInput& input) {
    const SmLimits sm(cc);
    if (input.block_threads == 0 || input.block_threads > sm.max_threads_per_block) {
        return {};
    }
    return CliffSearch(sm, input).run();
}

}  // namespace flipflop
