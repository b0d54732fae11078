// Owns: which requests fitted which kernels. What fits no kernel at all is a usage error; what fits some only is a note.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "advise/subject.hpp"

namespace flipflop::advise {

class FitBook {
public:
    /// What of `requests` (and of the subject's case) fits the kernel `name`. `subject` was made from them.
    void record(const std::string& name, const Requests& requests, const Subject& subject);
    /// The first request that fits nowhere: FF0711 (--arg), FF0723 (--data), FF0731 (--trips).
    [[nodiscard]] std::optional<Diagnostic> misfit() const;
    [[nodiscard]] std::vector<Diagnostic> notes() const;

private:
    struct Entry {
        std::string option, text;
        std::vector<TextOrigin> origins;                       ///< of the launches file's entry, or none
        std::vector<std::pair<std::string, std::string>> misfits;   ///< kernel, why
        std::size_t seen{};
    };
    Entry& entry(const std::string& option, const std::string& text, std::size_t group, const Requests& requests);

    std::vector<Entry> entries_;                               ///< in the order of the requests
    std::map<std::tuple<std::string, std::string, std::size_t>, std::size_t> index_;
};

}  // namespace flipflop::advise
