// Owns: the words for machine code without PTX: a table and JSON of what its kernels need.
#pragma once

#include <string>
#include <vector>

#include "flipflop/analysis.hpp"
#include "report/json_writer.hpp"
#include "report/text_format.hpp"

namespace flipflop::report {

/// The keys of one kernel of a cubin, inside an object that is open.
void write_cubin_kernel(JsonWriter& json, const CubinKernel& kernel);
/// "machine_kernels": [...]
void write_machine_kernels(JsonWriter& json, const std::vector<MachineKernel>& kernels);

/// Kernel by kernel, each with its GPU and the occupancy there; empty without any.
[[nodiscard]] std::string machine_kernels_text(const std::vector<MachineKernel>& kernels, const TextStyle& style);
/// The kernels of cubins, for `inspect`.
[[nodiscard]] std::string cubin_kernels_text(const std::vector<CubinEntry>& cubins, const TextStyle& style);

}  // namespace flipflop::report
