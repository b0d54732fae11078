// Owns: what is known of a GPU, each number with unit, basis and source. Input: gpu_profiles/*.json (embedded in the
// library) or a user's file. Invariant: a value that is not known is empty; a loaded profile has passed validation.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flipflop/diagnostic.hpp"

namespace flipflop {

struct SourcedValue {
    std::optional<double> value;
    std::string unit;
    std::string basis;      ///< measured | datasheet | fitted | assumed | derived
    std::string source;     ///< a citation that a person can follow
    std::string note;
    std::optional<double> low, high;   ///< interval, where one is known
};

/// A quantity that depends on the clock: measured points in ascending x.
struct SourcedCurve {
    std::vector<std::pair<double, double>> points;
    std::string x_unit, unit, basis, source, note;
    [[nodiscard]] double at(double x) const;   ///< linear between the points, the end points' values beyond them
};

/// Limits of a compute capability as cuda_occupancy.h and the Programming Guide state them.
struct ComputeCapability {
    int major{}, minor{};
    std::string architecture;
    std::map<std::string, SourcedValue, std::less<>> limits;       ///< max_warps_per_sm, registers_per_sm, shared_mem_per_sm_bytes, ...
    std::vector<std::uint32_t> shared_carveouts_kib;               ///< ascending; empty: dedicated shared memory, no choice
    std::string shared_carveouts_basis, shared_carveouts_source;
    std::map<std::string, SourcedValue, std::less<>> throughput;   ///< thread-level results per clock per SM: fp32, fp64, int32_add, sfu, ...
    [[nodiscard]] double limit(std::string_view name, double otherwise = 0) const;
    [[nodiscard]] std::optional<double> rate(std::string_view name) const;
    [[nodiscard]] std::string version() const;    ///< "8.0"
};

struct GpuProfile {
    std::string id;                  ///< "a100-pcie-40gb"
    std::string name;                ///< "A100-PCIE-40GB"
    std::vector<std::string> aliases;
    ComputeCapability cc;
    std::map<std::string, SourcedValue, std::less<>> values;       ///< sm_count, boost_clock_mhz, dram_bandwidth_gbs, l2_mib, idle_power_w, ...
    std::map<std::string, SourcedCurve, std::less<>> curves;       ///< core_voltage_mv, idle_power_w; x is the clock in MHz
    std::string memory_type;         ///< "HBM2e"
    std::string memory_type_note;
    std::string chip;                ///< "GA100"; empty: not known
    std::string inherits;            ///< id of the board that a user's file builds on, or empty
    std::string origin;              ///< the file it was read from; empty: built in
    std::string alias_note;          ///< what the name given stands for where it names several boards, or empty
    std::optional<std::uint32_t> sm_override;   ///< --sms
    [[nodiscard]] std::optional<double> value(std::string_view name) const;
    [[nodiscard]] const SourcedValue* sourced(std::string_view name) const;   ///< null when the profile does not name it
    [[nodiscard]] const SourcedCurve* curve(std::string_view name) const;
    [[nodiscard]] double sm_count() const;        ///< of the part in use
};

struct GpuName {
    std::string id, name;
    std::vector<std::string> aliases;
    std::string compute_capability;
};

/// All embedded profiles, by id.
[[nodiscard]] std::vector<GpuName> list_gpus();

/// By id, name (case-insensitive, spaces and dashes alike), alias or path of a JSON file (contains '/' or ends in .json).
/// Unknown: FF0901 with a did-you-mean in `help`. A file that does not validate: FF0902 with line and column, and the
/// JSON pointer of the value at fault.
[[nodiscard]] Result<GpuProfile> load_gpu(const std::string& name);

/// The same for the text of a profile; `file` names it in diagnostics, and `inherits` paths are relative to it.
[[nodiscard]] Result<GpuProfile> parse_gpu_profile(std::string_view text, const std::string& file);

/// A part of the board (MIG, --sms): 1 to the board's own number of SMs, else FF0904.
[[nodiscard]] Result<GpuProfile> with_sms(GpuProfile gpu, std::uint32_t sms);

/// "8.0" -> its limits; every capability cuda_occupancy.h 13.0 supports from 5.0 on. Unknown: FF0903.
[[nodiscard]] Result<ComputeCapability> load_compute_capability(const std::string& version);

/// "5.0", "5.2", ... in ascending order.
[[nodiscard]] std::vector<std::string> list_compute_capabilities();

}  // namespace flipflop
