// Owns: what a kernel needs apart from registers: shared and local memory, barriers, special registers. Input: the
// functions of a kernel's call tree.
#pragma once

#include "flipflop/passes.hpp"

namespace flipflop {

/// Sets shared and local bytes, barriers and `complete` of `resources`, and named barriers, dimensions, uses_cluster and
/// grid_barrier of `facts`.
void collect_resources(const ptx::Module& module, const std::vector<const ptx::Function*>& functions, KernelFacts& facts);

[[nodiscard]] LaunchBounds launch_bounds_of(const ptx::LaunchDirectives& directives);

/// Functions of the call tree of `entry` that have a body: the entry first, the others in text order. `incomplete` is set
/// when a function without a body is called, or one through a pointer. Recursion is no trouble.
[[nodiscard]] std::vector<std::uint32_t> call_tree(const ptx::Module& module, std::uint32_t entry, bool& incomplete);

/// Indices into `code.functions` with those that a function calls before it; within a recursion the order is any.
[[nodiscard]] std::vector<std::uint32_t> callees_first(const ptx::Module& module, const KernelCode& code);

}  // namespace flipflop
