#include "inputs/content_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "flipflop/inputs.hpp"
#include "inputs/file.hpp"

namespace flipflop {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours kAbandonedAfter{1};
constexpr std::string_view kMark = "flipflop-cache 1 ";

std::string head_of(std::string_view content) { return fmt::format("{}{} {}\n", kMark, sha256(content), content.size()); }

/// All of it, or errno.
int write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return wrote < 0 ? errno : EIO;
        bytes.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return 0;
}

}  // namespace

std::string ContentCache::place_of(std::string_view kind, std::string_view key) const {
    return fmt::format("{}/{}/{}/{}", folder_, kind, key.substr(0, 2), key.substr(2));
}

std::optional<std::string> ContentCache::find(std::string_view kind, std::string_view key) const {
    if (!on()) return std::nullopt;
    InputLimits limits;
    limits.max_file_bytes = 1ULL << 30;
    const std::string place = place_of(kind, key);
    std::error_code ignored;
    if (!fs::is_regular_file(place, ignored)) return std::nullopt;
    const auto file = FileBytes::open(place, limits);
    if (!file) return std::nullopt;
    const std::string_view all = file->view();
    const std::size_t end = all.find('\n');
    if (!all.starts_with(kMark) || end == std::string_view::npos) return std::nullopt;
    const std::string_view content = all.substr(end + 1);
    if (all.substr(0, end + 1) != head_of(content)) return std::nullopt;
    ::utimensat(AT_FDCWD, place.c_str(), nullptr, 0);   // used now: the last to go
    return std::string(content);
}

void ContentCache::keep(std::string_view kind, std::string_view key, std::string_view content) const {
    if (!on()) return;
    const fs::path place = place_of(kind, key);
    std::error_code error;
    fs::create_directories(place.parent_path(), error);
    const auto failed = [&](int why) {
        int none = 0;
        errno_.compare_exchange_strong(none, why);
    };
    if (error) return failed(error.value());
    std::string beside = place.string() + ".XXXXXX";
    const int fd = ::mkostemp(beside.data(), O_CLOEXEC);
    if (fd < 0) return failed(errno);
    int why = write_all(fd, head_of(content));
    if (why == 0) why = write_all(fd, content);
    if (::close(fd) != 0 && why == 0) why = errno;
    if (why == 0 && std::rename(beside.c_str(), place.c_str()) != 0) why = errno;
    if (why == 0) {
        // A long run makes room as it goes: what it keeps must not fill the disk before it ends.
        if ((kept_bytes_ += content.size()) > limit_bytes_ / 8) make_room();
        return;
    }
    ::unlink(beside.c_str());
    failed(why);
}

ContentCache::~ContentCache() {
    if (kept_bytes_ != 0) make_room();
}

/// Several runs may do so at once: what another has removed already is gone, and what one reads meanwhile stays open.
void ContentCache::make_room() const {
    kept_bytes_ = 0;
    struct Entry { std::filesystem::file_time_type used; std::uint64_t bytes; fs::path path; };
    std::vector<Entry> entries;
    std::uint64_t total = 0;
    std::error_code error;
    const auto now = fs::file_time_type::clock::now();
    for (fs::recursive_directory_iterator at(folder_, fs::directory_options::skip_permission_denied, error), end; !error && at != end; at.increment(error)) {
        std::error_code of_file;
        if (!at->is_regular_file(of_file) || of_file) continue;
        const auto used = at->last_write_time(of_file);
        const std::uint64_t bytes = of_file ? 0 : at->file_size(of_file);
        if (of_file) continue;
        // "KEY.XXXXXX" of a run that was killed while it wrote.
        if (at->path().has_extension() && now - used > kAbandonedAfter) {
            fs::remove(at->path(), of_file);
            continue;
        }
        total += bytes;
        entries.push_back({used, bytes, at->path()});
    }
    if (total <= limit_bytes_) return;
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
    const std::uint64_t wanted = limit_bytes_ / 10 * 9;   // some room at once, so that the next entry does not do it again
    for (const Entry& entry : entries) {
        if (total <= wanted) break;
        fs::remove(entry.path, error);
        total -= entry.bytes;
    }
}

std::string ContentCache::trouble() const {
    const int why = errno_.load();
    return why == 0 ? std::string{} : fmt::format("nothing more can be kept in {}: {}", folder_, std::strerror(why));
}

}  // namespace flipflop
