// Owns: how an entry of a launches file and the command line make one description of a launch, and where in the file a
// complaint about it belongs. Reading the file is flipflop/advise.hpp's read_launches.
#pragma once

#include <vector>

#include "flipflop/advise.hpp"

namespace flipflop::advise {

/// The entry with what the command line says on top: its arguments and data override by name, its grid rule, blocks and
/// cases replace the entry's as a whole.
[[nodiscard]] LaunchOptions launch_of(const KernelLaunches& entry, const LaunchOptions& command);

/// `diagnostic` speaks of an option ("--grid-x"); where a launches file gave that option, it speaks of file, line and column.
[[nodiscard]] Diagnostic at_origin(Diagnostic diagnostic, const std::vector<TextOrigin>& origins);

}  // namespace flipflop::advise
