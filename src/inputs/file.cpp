#include "inputs/file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace flipflop {
namespace {

// Smaller files are read: a file that shrinks while it is mapped would kill the process, and reading is as fast.
constexpr std::uint64_t kMapFrom = 64ULL << 20;
constexpr std::uint64_t kDeviceBytes = 16ULL << 20;

class Descriptor {
public:
    explicit Descriptor(int fd, bool owned = true) : fd_(fd), owned_(owned) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (owned_ && fd_ >= 0) ::close(fd_);
    }
    [[nodiscard]] int get() const { return fd_; }

private:
    int fd_;
    bool owned_;
};

/// Waits until something has come through a pipe or its writer is there; false where nobody opens it for that long.
/// A byte that had to be read to know goes to `first`.
bool has_writer(int fd, std::uint32_t seconds, std::string& first) {
    pollfd waiting{fd, POLLIN, 0};
    int ready = 0;
    do ready = ::poll(&waiting, 1, static_cast<int>(std::min(seconds, 3600U) * 1000));
    while (ready < 0 && errno == EINTR);
    if (ready != 0) return true;
    // Silent so far: reading says "would block" to whom a writer is connected, and "end" to whom none is.
    char byte{};
    const ssize_t got = ::read(fd, &byte, 1);
    if (got == 1) first = byte;
    return got != 0;
}

/// All that comes, up to `limit` bytes; nothing when more comes. errno is set where it failed.
enum class ReadEnd : std::uint8_t { complete, too_much, failed };
ReadEnd read_all(int fd, std::uint64_t expected, std::uint64_t limit, std::string& into) {
    into.resize(static_cast<std::size_t>(expected) + 1);
    std::size_t have = 0;
    for (;;) {
        if (have == into.size()) into.resize(static_cast<std::size_t>(std::min<std::uint64_t>(into.size() * 2 + 64 * 1024, std::max<std::uint64_t>(limit, into.size()) + 1)));
        const ssize_t got = ::read(fd, into.data() + have, into.size() - have);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return ReadEnd::failed;
        if (got == 0) break;
        have += static_cast<std::size_t>(got);
        if (have > limit) return ReadEnd::too_much;
    }
    into.resize(have);
    return ReadEnd::complete;
}

}  // namespace

Diagnostic input_error(std::string id, const std::string& path, std::string message, std::string help) {
    Diagnostic error;
    error.id = std::move(id);
    error.severity = Severity::error;
    error.file = path == "-" ? "<stdin>" : path;
    error.message = std::move(message);
    error.help = std::move(help);
    return error;
}

FileBytes::FileBytes(FileBytes&& other) noexcept
    : held_(std::move(other.held_)), mapped_(std::exchange(other.mapped_, nullptr)), mapped_bytes_(std::exchange(other.mapped_bytes_, 0)) {}

FileBytes& FileBytes::operator=(FileBytes&& other) noexcept {
    std::swap(held_, other.held_);
    std::swap(mapped_, other.mapped_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
    return *this;
}

FileBytes::~FileBytes() {
    if (mapped_ != nullptr) ::munmap(const_cast<char*>(mapped_), mapped_bytes_);
}

void FileBytes::forget_before(std::size_t end) const {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    // Advice only: what is needed again is read again.
    if (mapped_ != nullptr && end >= page) (void)::madvise(const_cast<char*>(mapped_), std::min(end, mapped_bytes_) / page * page, MADV_DONTNEED);
}

Result<FileBytes> FileBytes::open(const std::string& path, const InputLimits& limits) {
    const auto unreadable = [&](int number) {
        const bool missing = number == ENOENT || number == ENOTDIR;
        return tl::unexpected(missing ? input_error("FF0801", path, path.empty() ? "the name of an input is empty" : "no such file")
                                      : input_error("FF0803", path, fmt::format("cannot be read: {}", std::strerror(number))));
    };
    const bool standard_input = path == "-";
    std::string first;
    // Opening a named pipe would wait for its writer without end.
    const Descriptor file{standard_input ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), !standard_input};
    struct stat status {};
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return unreadable(errno);
    if (!standard_input) {
        if (S_ISFIFO(status.st_mode) && !has_writer(file.get(), limits.pipe_seconds, first))
            return tl::unexpected(input_error("FF0803", path, fmt::format("is a pipe that nobody writes to (waited {} s)", limits.pipe_seconds)));
        (void)::fcntl(file.get(), F_SETFL, ::fcntl(file.get(), F_GETFL) & ~O_NONBLOCK);
    }

    const bool regular = S_ISREG(status.st_mode);
    const std::uint64_t bytes = regular ? static_cast<std::uint64_t>(status.st_size) : 0;
    // A character device is a terminal, or one that never ends (/dev/zero).
    const std::uint64_t stream_limit = S_ISCHR(status.st_mode) ? std::min(limits.max_stream_bytes, kDeviceBytes) : limits.max_stream_bytes;
    const std::uint64_t limit = regular ? limits.max_file_bytes : stream_limit;
    const auto too_large = [&] {
        return tl::unexpected(input_error("FF0808", path, fmt::format("is larger than {} bytes, the most that is read", limit)));
    };
    if (bytes > limit) return too_large();

    FileBytes result;
    if (bytes >= kMapFrom) {
        void* at = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ, MAP_PRIVATE, file.get(), 0);
        if (at != MAP_FAILED) {
            result.mapped_ = static_cast<const char*>(at);
            result.mapped_bytes_ = static_cast<std::size_t>(bytes);
            return result;
        }
    }
    switch (read_all(file.get(), bytes, limit, result.held_)) {
        case ReadEnd::complete: return result.held_.insert(0, first), Result<FileBytes>{std::move(result)};
        case ReadEnd::too_much: return too_large();
        case ReadEnd::failed: break;
    }
    return unreadable(errno);
}

}  // namespace flipflop
