#include "gpu/profile_json.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gpu/names.hpp"
#include "gpu/profile_checker.hpp"

namespace flipflop::profile {
namespace {

// ---- the head: a SAX handler that stops as soon as it has what it wants ---------------------------------------------
class HeadReader : public nlohmann::json_sax<Json> {
public:
    Head head;

    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool start_object(std::size_t) override {
        ++depth_;
        return true;
    }
    bool end_object() override {
        --depth_;
        return true;
    }
    bool start_array(std::size_t) override { return true; }
    bool end_array() override { return true; }
    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

    bool key(string_t& name) override {
        if (depth_ == 1) {
            top_ = name;
            // `values` is the bulk of a file; shipped files put the names before it.
            return name != "values" || head.names.compute_capability.empty();
        }
        inner_ = name;
        return true;
    }
    bool string(string_t& text) override {
        if (depth_ == 2 && top_ == "alias_also") {
            head.alias_also[inner_].push_back(text);
        } else if (depth_ != 1) {
            return true;
        } else if (top_ == "id") {
            head.names.id = text;
        } else if (top_ == "name") {
            head.names.name = text;
        } else if (top_ == "aliases") {
            head.names.aliases.push_back(text);
        } else if (top_ == "compute_capability") {
            head.names.compute_capability = text;
        }
        return true;
    }

private:
    int depth_{};
    std::string top_, inner_;
};

/// Quantities that bound each other, where both are known.
void check_order(Checker& check, const GpuProfile& gpu) {
    static constexpr std::pair<std::string_view, std::string_view> at_most[] = {
        {"base_clock_mhz", "boost_clock_mhz"},
        {"boost_clock_mhz", "max_clock_mhz"},
        {"power_limit_min_w", "power_limit_default_w"},
        {"power_limit_default_w", "power_limit_max_w"},
        {"power_limit_min_w", "power_limit_max_w"},
        {"idle_power_w", "tdp_w"},
        {"l1_hit_latency_cycles", "l2_hit_latency_cycles"},
        {"l2_hit_latency_cycles", "dram_latency_cycles"},
        {"dram_read_bandwidth_gbs", "dram_bandwidth_gbs"},
        {"dram_sustained_bandwidth_gbs", "dram_bandwidth_gbs"},
    };
    for (const auto& [low, high] : at_most) {
        const auto a = gpu.value(low), b = gpu.value(high);
        if (a && b && *a > *b) {
            check.fail(fmt::format("/values/{}", low), fmt::format("{} = {:g} is above {} = {:g}", low, *a, high, *b));
        }
    }
}

/// What a board takes over from another one is no longer known of it: it is assumed.
void make_assumed(const std::string& of, Values& values) {
    for (auto& [name, value] : values) {
        if (value.value) {
            value.basis = "assumed";
            value.note = "of " + of + (value.note.empty() ? "" : "; " + value.note);
        }
    }
}

std::optional<Diagnostic> inherit(Checker& check, const Json& json, const BaseLoader* base, GpuProfile& gpu) {
    const auto from = check.text(json, "", "inherits", true);
    if (check.failed()) {
        return std::nullopt;
    }
    if (!base) {
        check.fail("/inherits", "a profile that others inherit from cannot inherit itself (one level only)");
        return std::nullopt;
    }
    auto loaded = (*base)(from);
    if (!loaded) {
        auto error = std::move(loaded.error());
        if (error.id == "FF0902") {
            return error;   // the fault is in the other file
        }
        check.fail("/inherits", error.message, error.help);
        return std::nullopt;
    }
    gpu = std::move(*loaded);
    gpu.inherits = gpu.id;
    make_assumed(gpu.name, gpu.values);
    for (auto& [name, curve] : gpu.curves) {
        curve.basis = "assumed";
        curve.note = "of " + gpu.name + (curve.note.empty() ? "" : "; " + curve.note);
    }
    gpu.aliases.clear();
    gpu.alias_note.clear();
    return std::nullopt;
}

void read_identity(Checker& check, const Json& json, bool inherited, GpuProfile& gpu) {
    gpu.id = check.text(json, "", "id", true);
    gpu.name = check.text(json, "", "name", true);
    if (!check.failed() && name_key(gpu.id).empty()) {
        check.fail("/id", "must hold a letter or a digit");
    }
    if (const auto aliases = json.find("aliases"); aliases != json.end()) {
        if (!aliases->is_array() || !std::all_of(aliases->begin(), aliases->end(), [](const Json& a) { return a.is_string(); })) {
            check.fail("/aliases", "must be a list of texts");
            return;
        }
        gpu.aliases = aliases->get<std::vector<std::string>>();
    }
    if (json.contains("chip")) {
        gpu.chip = check.text(json, "", "chip", true);
    }
    if (json.contains("memory_type") || !inherited) {
        gpu.memory_type = check.text(json, "", "memory_type", true);
        gpu.memory_type_note = json.contains("memory_type_note") ? check.text(json, "", "memory_type_note", true) : std::string();
    }
}

void read_version(Checker& check, const std::string& version, ComputeCapability& cc) {
    const auto dot = version.find('.');
    const bool digits = version.find_first_not_of("0123456789.") == std::string::npos;
    if (!digits || dot == std::string::npos || dot == 0 || dot + 1 == version.size() || version.size() > 6 || version.rfind('.') != dot) {
        check.fail("/compute_capability", "must be like \"8.0\"");
        return;
    }
    cc.major = std::stoi(version.substr(0, dot));
    cc.minor = std::stoi(version.substr(dot + 1));
}

void read_carveouts(Checker& check, const Json& json, ComputeCapability& cc) {
    const std::string at = "/shared_carveouts_kib";
    if (!check.is_object(json, at)) {
        return;
    }
    check.only_keys(json, at, {"values", "unit", "basis", "source", "note"});
    read_provenance(check, json, at, cc.shared_carveouts_basis, cc.shared_carveouts_source);
    const auto sizes = json.find("values");
    if (sizes == json.end() || !sizes->is_array()) {
        check.fail(at, "\"values\" must be a list of sizes in KiB");
        return;
    }
    cc.shared_carveouts_kib.clear();
    for (const auto& size : *sizes) {
        const auto& before = cc.shared_carveouts_kib;
        if (!size.is_number_unsigned() || size.get<std::uint64_t>() > 1'000'000 ||
            (!before.empty() && size.get<std::uint32_t>() <= before.back())) {
            check.fail(at + "/values", "must be sizes in KiB that rise");
            return;
        }
        cc.shared_carveouts_kib.push_back(size.get<std::uint32_t>());
    }
}

/// What occupancy cannot do without; an architecture that is not built in must bring it along.
void require_limits(Checker& check, const ComputeCapability& cc) {
    for (const auto* name : {"block_barriers_per_sm", "max_blocks_per_sm", "max_threads_per_block", "max_warps_per_sm",
                             "occupancy_max_registers_per_thread", "register_allocation_granularity", "registers_per_block",
                             "registers_per_sm", "shared_mem_allocation_granularity_bytes", "shared_mem_per_block_default_bytes",
                             "shared_mem_per_block_optin_bytes", "shared_mem_per_sm_bytes", "shared_mem_reserved_per_block_bytes",
                             "sub_partitions", "warp_size"}) {
        const auto found = cc.limits.find(name);
        if (found == cc.limits.end() || !found->second.value) {
            check.fail("/limits", fmt::format("compute capability {} is not built in, so \"{}\" must be given here", cc.version(), name));
        }
    }
}

void read_architecture(Checker& check, const Json& json, bool inherited, GpuProfile& gpu) {
    bool built_in = true;
    if (json.contains("compute_capability") || !inherited) {
        const auto version = check.text(json, "", "compute_capability", true);
        if (check.failed()) {
            return;
        }
        auto cc = load_compute_capability(version);
        built_in = cc.has_value();
        if (built_in) {
            gpu.cc = std::move(*cc);
        } else if (json.contains("limits")) {
            gpu.cc = {};
            gpu.cc.architecture = "of " + gpu.name;
            read_version(check, version, gpu.cc);
        } else {
            check.fail("/compute_capability", cc.error().message, cc.error().help + "; another one needs \"limits\" of its own here");
            return;
        }
    }
    if (const auto limits = json.find("limits"); limits != json.end() && !check.failed()) {
        read_values(check, *limits, "/limits", capability_limits(), gpu.cc.limits);
    }
    if (const auto rates = json.find("throughput"); rates != json.end() && !check.failed()) {
        read_values(check, *rates, "/throughput", throughput_rates(), gpu.cc.throughput);
    }
    if (const auto sizes = json.find("shared_carveouts_kib"); sizes != json.end() && !check.failed()) {
        read_carveouts(check, *sizes, gpu.cc);
    }
    if (!built_in && !check.failed()) {
        require_limits(check, gpu.cc);
    }
}

}  // namespace

Head read_head(std::string_view text) {
    HeadReader reader;
    Json::sax_parse(text.begin(), text.end(), &reader);
    return std::move(reader.head);
}

Result<GpuProfile> read_board(std::string_view text, const std::string& file, bool built_in, const BaseLoader* base) {
    Checker check(text, file);
    const auto json = check.parse();
    GpuProfile gpu;
    if (json && check.is_object(*json, "")) {
        const auto schema = check.text(*json, "", "schema", true);
        if (!check.failed() && schema != "flipflop.gpu/1") {
            check.fail("/schema", fmt::format("\"{}\" is not \"flipflop.gpu/1\"", schema));
        }
        check.only_keys(*json, "", {"schema", "id", "name", "aliases", "alias_also", "compute_capability", "chip", "memory_type",
                                    "memory_type_note", "inherits", "values", "throughput", "limits", "shared_carveouts_kib", "curves"});
        const bool inherits = json->contains("inherits");
        if (inherits && !check.failed()) {
            if (auto elsewhere = inherit(check, *json, base, gpu)) {
                return tl::unexpected(std::move(*elsewhere));
            }
        }
        if (!check.failed()) {
            read_identity(check, *json, inherits, gpu);
            read_architecture(check, *json, inherits, gpu);
        }
        if (const auto values = json->find("values"); !check.failed() && values != json->end()) {
            read_values(check, *values, "/values", board_values(), gpu.values);
        } else if (!inherits) {
            check.fail("", "\"values\" is missing");
        }
        if (const auto curves = json->find("curves"); !check.failed() && curves != json->end() && check.is_object(*curves, "/curves")) {
            for (const auto& [name, entry] : curves->items()) {
                const auto* rule = find(board_curves(), name);
                if (!rule) {
                    check.fail("/curves/" + name, fmt::format("unknown curve \"{}\"", name), "core_voltage_mv or idle_power_w");
                    break;
                }
                gpu.curves[name] = read_curve(check, entry, "/curves/" + name, *rule);
            }
        }
        for (const auto* needed : {"sm_count", "boost_clock_mhz", "dram_bandwidth_gbs"}) {
            if (!check.failed() && !gpu.value(needed)) {
                check.fail("/values", fmt::format("\"{}\" must be known", needed));
            }
        }
        if (!check.failed()) {
            check_order(check, gpu);
        }
    }
    if (check.failed()) {
        return tl::unexpected(check.take());
    }
    gpu.origin = built_in ? std::string() : file;
    return gpu;
}

Result<ComputeCapability> read_capability(std::string_view text, const std::string& file) {
    Checker check(text, file);
    const auto json = check.parse();
    ComputeCapability cc;
    if (json && check.is_object(*json, "")) {
        check.only_keys(*json, "", {"schema", "compute_capability", "architecture", "shared_carveouts_kib", "limits", "throughput"});
        const auto schema = check.text(*json, "", "schema", true);
        if (!check.failed() && schema != "flipflop.compute_capability/1") {
            check.fail("/schema", fmt::format("\"{}\" is not \"flipflop.compute_capability/1\"", schema));
        }
        const auto version = check.text(*json, "", "compute_capability", true);
        cc.architecture = check.text(*json, "", "architecture", true);
        if (!check.failed()) {
            read_version(check, version, cc);
        }
        for (const auto* part : {"limits", "throughput", "shared_carveouts_kib"}) {
            if (!json->contains(part)) {
                check.fail("", fmt::format("\"{}\" is missing", part));
            }
        }
        if (!check.failed()) {
            read_values(check, (*json)["limits"], "/limits", capability_limits(), cc.limits);
            read_values(check, (*json)["throughput"], "/throughput", throughput_rates(), cc.throughput);
            read_carveouts(check, (*json)["shared_carveouts_kib"], cc);
            require_limits(check, cc);
        }
    }
    if (check.failed()) {
        return tl::unexpected(check.take());
    }
    return cc;
}

}  // namespace flipflop::profile
