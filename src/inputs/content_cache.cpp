#include "inputs/content_cache.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "flipflop/inputs.hpp"
#include "inputs/file.hpp"

namespace flipflop {

namespace {

namespace fs = std::filesystem;

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
    if (why == 0) return;
    ::unlink(beside.c_str());
    failed(why);
}

std::string ContentCache::trouble() const {
    const int why = errno_.load();
    return why == 0 ? std::string{} : fmt::format("nothing more can be kept in {}: {}", folder_, std::strerror(why));
}

}  // namespace flipflop
