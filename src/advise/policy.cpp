#include "policy.hpp"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "complaints.hpp"

namespace flipflop::advise {

namespace {

bool read_number(std::string_view text, double& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() && std::isfinite(value);
}

/// "LOC=REST", split at the last '=' so that a path may hold one.
Result<std::pair<std::string, std::string>> split(const std::string& text, const std::string& option, const char* form) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
        return tl::unexpected(complain_at("FF0730", option, text, 1, fmt::format("the form is {}", form), "LOC is file:line or the id of a loop, as the report shows it"));
    return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

Result<BranchPolicy::Trips> parse_trips(const std::string& text, const std::string& option) {
    BranchPolicy::Trips trips;
    bool any = false;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t comma = std::min(text.find(',', begin), text.size());
        std::string_view piece = std::string_view(text).substr(begin, comma - begin);
        const bool is_max = piece.starts_with("max:");
        if (is_max) piece.remove_prefix(4);
        else if (piece.starts_with("mean:")) piece.remove_prefix(5);
        double value{};
        if (!read_number(piece, value) || value < 0)
            return tl::unexpected(complain_at("FF0730", option, text, static_cast<std::uint32_t>(begin + 1), "not a number of trips", "write 12, or mean:12,max:400"));
        if (is_max) trips.max = value;
        else {
            trips.mean = value;
            any = true;
        }
        begin = comma + 1;
    }
    if (!any || (trips.max && *trips.max < trips.mean))
        return tl::unexpected(complain_at("FF0730", option, text, 1, any ? "the most is less than the mean" : "the mean is missing", "write 12, or mean:12,max:400"));
    return trips;
}

Result<BranchPolicy> read_policy(const LaunchOptions& options) {
    BranchPolicy policy;
    for (const std::string& text : options.trips) {
        const auto parts = split(text, "--trips", "LOC=N or LOC=mean:N,max:M");
        if (!parts) return tl::unexpected(parts.error());
        const auto trips = parse_trips(parts->second, "--trips");
        if (!trips) return tl::unexpected(trips.error());
        policy.trips[parts->first] = *trips;
    }
    for (const std::string& text : options.taken) {
        const auto parts = split(text, "--taken", "LOC=P, P from 0 to 1");
        if (!parts) return tl::unexpected(parts.error());
        double probability{};
        if (!read_number(parts->second, probability) || probability < 0 || probability > 1)
            return tl::unexpected(complain_at("FF0730", "--taken", text, static_cast<std::uint32_t>(parts->first.size() + 2), "not a probability from 0 to 1"));
        policy.taken[parts->first] = probability;
    }
    if (options.assume_trips) {
        const auto trips = parse_trips(*options.assume_trips, "--assume-trips");
        if (!trips) return tl::unexpected(trips.error());
        policy.assumed_trips = *trips;
    }
    if (options.assume_taken) {
        if (!(*options.assume_taken >= 0 && *options.assume_taken <= 1))
            return tl::unexpected(complain("FF0730", "--assume-taken", fmt::format("{} is not a probability from 0 to 1", *options.assume_taken)));
        policy.taken_probability = options.assume_taken;
    }
    return policy;
}

bool names_loop(const std::string& location, const LoopDescription& loop, const std::string& module) {
    if (location == loop.id || location == fmt::format("ptx:{}", loop.ptx_line)) return true;
    if (const std::string in_ptx = fmt::format("{}:{}", module, loop.ptx_line); !module.empty() && (in_ptx == location || in_ptx.ends_with("/" + location))) return true;
    if (!loop.source) return false;
    const std::string full = fmt::format("{}:{}", loop.source->file, loop.source->line);
    return full == location || full.ends_with("/" + location);
}

}  // namespace flipflop::advise
