// Owns: what a tuning run is to look at: from a T1 file or options to configurations, how each is launched, and which is
// the reference. Nothing is compiled. Invariant: geometries run parallel to configurations (with --list perhaps fewer).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuning/spec.hpp"

namespace flipflop::tuning {

struct Plan {
    Spec spec;
    Configurations configurations;
    std::vector<Geometry> geometries;
    std::optional<std::size_t> reference;    ///< index into configurations
    std::optional<std::uint64_t> space_size, sampled;
    double space_product{};
};

/// FF07nn for options, FF08nn for the file.
[[nodiscard]] Result<Plan> make_plan(const TuneOptions& options);

/// An error of a file.
[[nodiscard]] Diagnostic wrong_in(const std::string& file, const char* id, std::string message, std::string help = {});

}  // namespace flipflop::tuning
