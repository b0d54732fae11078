// Owns: answers of outside tools, kept by a digest of everything that they depend on. Several runs may share one folder:
// an entry is written beside its place and renamed, and is taken only when its own digest agrees, so that a half-written
// or damaged one is as good as none. Nothing here fails a run: what cannot be kept is made again.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

namespace flipflop {

class ContentCache {
public:
    /// An empty folder: nothing is found and nothing is kept.
    explicit ContentCache(std::string folder) : folder_(std::move(folder)) {}

    /// `kind`: a word that becomes a folder ("ptx"); `key`: hexadecimal.
    [[nodiscard]] std::optional<std::string> find(std::string_view kind, std::string_view key) const;
    void keep(std::string_view kind, std::string_view key, std::string_view content) const;

    [[nodiscard]] bool on() const { return !folder_.empty(); }
    /// The system's words for the first entry that could not be kept, or empty.
    [[nodiscard]] std::string trouble() const;

private:
    [[nodiscard]] std::string place_of(std::string_view kind, std::string_view key) const;
    std::string folder_;
    mutable std::atomic<int> errno_{0};
};

}  // namespace flipflop
