#include "described.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "complaints.hpp"
#include "launches_file.hpp"

namespace flipflop::advise {

namespace {

constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

/// The place of an entry's `match` in its file.
Diagnostic at_match(const KernelLaunches& entry, std::string id, Severity severity, std::string message, std::string help) {
    Diagnostic d = complain(std::move(id), "match", fmt::format("{} ('{}')", message, entry.match), std::move(help));
    d.severity = severity;
    return at_origin(std::move(d), entry.launch.origins);
}

struct Claims {
    std::vector<std::size_t> by_kernel;          ///< index of the entry, or kNobody
    std::vector<std::size_t> unmatched;          ///< entries that match nothing here
    std::vector<Diagnostic> notes;
    std::string nearest;                         ///< help for the first unmatched one
};

Result<Claims> claim(const LaunchesFile& file, const std::vector<KernelName>& all) {
    Claims claims;
    claims.by_kernel.assign(all.size(), kNobody);
    for (std::size_t e = 0; e < file.kernels.size(); ++e) {
        const KernelLaunches& entry = file.kernels[e];
        const auto matched = select_kernels(all, {entry.match});
        if (!matched) {
            if (matched.error().id != "FF0701") return tl::unexpected(matched.error());
            if (claims.unmatched.empty()) claims.nearest = matched.error().help;
            claims.unmatched.push_back(e);
            continue;
        }
        bool any = false;
        std::size_t before = kNobody;
        for (const std::size_t k : *matched) {
            if (claims.by_kernel[k] == kNobody) {
                claims.by_kernel[k] = e;
                any = true;
            } else {
                before = claims.by_kernel[k];
            }
        }
        if (!any)
            claims.notes.push_back(at_match(entry, "FF0764", Severity::warning, fmt::format("this entry is never used: the one in line {} matches its kernels", file.kernels[before].at.line),
                                            "the first entry that matches a kernel describes it; sizes of one launch are [[kernel.cases]]"));
    }
    return claims;
}

}  // namespace

Result<Described> describe(Requests command, const AnalyzeOptions& options, const std::vector<KernelName>& all, const std::vector<std::size_t>& chosen) {
    Described out;
    out.requests.push_back(std::move(command));
    out.of_kernel.assign(chosen.size(), 0);
    out.calls.resize(chosen.size());
    if (!options.launches) return out;
    const LaunchesFile& file = *options.launches;
    auto claims = claim(file, all);
    if (!claims) return tl::unexpected(claims.error());
    if (claims->unmatched.size() == file.kernels.size())
        return tl::unexpected(at_match(file.kernels.front(), "FF0764", Severity::error, "no entry of the launches file matches a kernel here", claims->nearest));
    out.notes = std::move(claims->notes);
    std::vector<std::size_t> index(file.kernels.size(), 0);
    std::vector<std::string> undescribed;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const std::size_t e = claims->by_kernel[chosen[i]];
        if (e == kNobody) {
            undescribed.push_back(bare_name(all[chosen[i]].demangled));
            continue;
        }
        if (index[e] == 0) {   // read when it is used: the data of another kernel need not be there
            auto requests = read_requests(launch_of(file.kernels[e], options.launch));
            if (!requests) return tl::unexpected(requests.error());
            requests->params = file.kernels[e].params;
            requests->fields = file.kernels[e].fields;
            requests->group = e + 1;
            index[e] = out.requests.size();
            out.requests.push_back(std::move(*requests));
        }
        out.of_kernel[i] = index[e];
        out.calls[i] = file.kernels[e].calls;
    }
    if (undescribed.empty()) return out;
    Diagnostic note = complain("FF0764", file.path, fmt::format("no entry describes {}: the usual assumptions are made", list_some(undescribed, 4)));
    if (!claims->unmatched.empty()) {
        std::vector<std::string> patterns;
        for (const std::size_t e : claims->unmatched) patterns.push_back("'" + file.kernels[e].match + "'");
        note.help = fmt::format("entries that match nothing here: {}", list_some(patterns, 4));
    }
    note.severity = Severity::note;
    out.notes.push_back(std::move(note));
    return out;
}

void add_metadata(Described& described, const std::vector<Metadata>& metadata) {
    for (std::size_t i = 0; i < metadata.size(); ++i) {
        if (metadata[i].empty()) continue;
        Requests own = described.requests[described.of_kernel[i]];
        own.names = names_of(metadata[i]);
        own.programs = own.names.contains("num_warps");
        if (!own.dynamic_smem && own.names.contains("shared"))
            if (auto bytes = Expression::parse("shared", "--dynamic-smem")) own.dynamic_smem = std::move(*bytes);
        described.of_kernel[i] = described.requests.size();
        described.requests.push_back(std::move(own));
    }
}

std::optional<Diagnostic> name_parameters(const Requests& requests, KernelFacts& kernel) {
    if (requests.params.size() > kernel.parameters.size())
        return at_origin(complain("FF0765", "params", fmt::format("{} names for the {} parameters of {}", requests.params.size(), kernel.parameters.size(), kernel.demangled.empty() ? kernel.name : kernel.demangled)),
                         requests.options.origins);
    for (std::size_t i = 0; i < requests.params.size(); ++i)
        if (!requests.params[i].empty()) kernel.parameters[i].source_name = requests.params[i];
    for (const FieldName& f : requests.fields) {
        if (f.parameter >= kernel.parameters.size()) continue;   // more names than parameters: said above
        const ParameterFacts& p = kernel.parameters[f.parameter];
        if (std::uint64_t{f.offset} + bytes_of_field_type(f.type) > p.bytes)
            return at_origin(complain_at("FF0765", "field", f.name, 1, fmt::format("'{}': bytes {} to {} lie beyond parameter {} of {} bytes", f.name, f.offset, f.offset + bytes_of_field_type(f.type) - 1, p.name, p.bytes)), requests.options.origins);
    }
    return std::nullopt;
}

}  // namespace flipflop::advise
