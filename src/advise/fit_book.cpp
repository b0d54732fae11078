#include "fit_book.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "complaints.hpp"
#include "launches_file.hpp"

namespace flipflop::advise {

FitBook::Entry& FitBook::entry(const std::string& option, const std::string& text, std::size_t group, const Requests& requests) {
    const auto [found, added] = index_.emplace(std::tuple(option, text, group), entries_.size());
    if (added) entries_.push_back({option, text, group > 0 ? requests.options.origins : std::vector<TextOrigin>{}, {}, 0});
    Entry& e = entries_[found->second];
    ++e.seen;
    return e;
}

void FitBook::record(const std::string& name, const Requests& requests, const Subject& subject) {
    const auto put = [&](Entry& e, const std::string& why) {
        if (!why.empty()) e.misfits.emplace_back(name, why);
    };
    const std::size_t arguments = requests.arguments.size();
    // The launches file's own requests are judged by the kernels of their entry, the command line's by all.
    for (std::size_t i = 0; i < arguments; ++i)
        put(entry("--arg", requests.arguments[i].text, i < requests.options.file_args ? requests.group : 0, requests), subject.arguments.misfits[i]);
    if (subject.chosen)
        for (std::size_t i = 0; i < subject.chosen->arguments.size(); ++i) {
            const bool from_file = !subject.chosen->said.file.empty();
            put(entry(from_file ? "--arg" : subject.chosen->said.option, subject.chosen->arguments[i].text, from_file || requests.options.sweep ? requests.group : 0, requests),
                subject.arguments.misfits[arguments + i]);
        }
    for (std::size_t i = 0; i < requests.data.size(); ++i)
        put(entry("--data", requests.data[i].text, i < requests.options.file_data ? requests.group : 0, requests), subject.data_misfits[i]);
    std::size_t at = 0;
    for (const auto& [location, trips] : requests.policy.trips) put(entry("--trips", location, 0, requests), subject.trips_misfits[at++]);
    at = 0;
    for (const auto& [location, probability] : requests.policy.taken) put(entry("--taken", location, 0, requests), subject.taken_misfits[at++]);
}

std::optional<Diagnostic> FitBook::misfit() const {
    for (const Entry& e : entries_) {
        if (e.misfits.size() < e.seen || e.misfits.empty()) continue;
        Diagnostic d = complain(e.option == "--data" ? "FF0723" : e.option == "--trips" || e.option == "--taken" ? "FF0731" : "FF0711", e.option,
                                fmt::format("'{}' does not fit {}: {}", e.text, e.seen == 1 ? "the kernel" : "any of the kernels", e.misfits.front().second));
        d.help = "flipflop inspect shows each kernel's parameters and loops";
        return at_origin(std::move(d), e.origins);
    }
    return std::nullopt;
}

std::vector<Diagnostic> FitBook::notes() const {
    std::vector<Diagnostic> notes;
    for (const Entry& e : entries_) {
        if (e.misfits.empty()) continue;
        std::vector<std::string> missed;
        for (const auto& [kernel, why] : e.misfits)
            if (std::find(missed.begin(), missed.end(), kernel) == missed.end()) missed.push_back(kernel);
        Diagnostic d = complain("FF0712", e.option, fmt::format("'{}' does not apply to {} ({})", e.text, list_some(missed, 4), e.misfits.front().second));
        d.severity = Severity::note;
        notes.push_back(at_origin(std::move(d), e.origins));
    }
    return notes;
}

}  // namespace flipflop::advise
