// Owns: answers of outside tools, kept by a digest of everything that they depend on. Several runs may share one folder:
// an entry is written beside its place and renamed, and is taken only when its own digest agrees, so that a half-written
// or damaged one is as good as none. Nothing here fails a run: what cannot be kept is made again. A cache that has grown
// beyond its limit loses what was not used for longest.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flipflop {

class ContentCache {
public:
    static constexpr std::uint64_t kDefaultLimit = 2ULL << 30;

    /// An empty folder: nothing is found and nothing is kept. Bytes of the files, as they are stored.
    explicit ContentCache(std::string folder, std::uint64_t limit_bytes = kDefaultLimit) : folder_(std::move(folder)), limit_bytes_(limit_bytes) {}
    /// Brings it below its limit, if anything was kept.
    ~ContentCache();
    ContentCache(const ContentCache&) = delete;
    ContentCache& operator=(const ContentCache&) = delete;

    /// `kind`: a word that becomes a folder ("ptx"); `key`: hexadecimal.
    [[nodiscard]] std::optional<std::string> find(std::string_view kind, std::string_view key) const;
    void keep(std::string_view kind, std::string_view key, std::string_view content) const;

    [[nodiscard]] bool on() const { return !folder_.empty(); }
    /// The system's words for the first entry that could not be kept, or empty.
    [[nodiscard]] std::string trouble() const;

private:
    [[nodiscard]] std::string place_of(std::string_view kind, std::string_view key) const;
    void make_room() const;

    std::string folder_;
    std::uint64_t limit_bytes_{};
    mutable std::atomic<std::uint64_t> kept_bytes_{0};   ///< since there was last made room
    mutable std::atomic<int> errno_{0};
};

}  // namespace flipflop
