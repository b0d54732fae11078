// Owns: what the user says of branches and loops that depend on data: --trips, --taken, --assume-trips, --assume-taken.
#pragma once

#include <string>
#include <vector>

#include "flipflop/advise.hpp"
#include "flipflop/diagnostic.hpp"
#include "flipflop/launch.hpp"

namespace flipflop::advise {

/// "12", "mean:12", "mean:12,max:400". FF0730 with a column when it is none.
[[nodiscard]] Result<BranchPolicy::Trips> parse_trips(const std::string& text, const std::string& option);

/// All four options. Locations stay as given: "file:line", a loop's id or a branch's.
[[nodiscard]] Result<BranchPolicy> read_policy(const LaunchOptions& options);

/// Does `location` name this loop: its id, "ptx:LINE", or "file:line" by the file's name or a tail of its path?
[[nodiscard]] bool names_loop(const std::string& location, const LoopDescription& loop, const std::string& module);

}  // namespace flipflop::advise
