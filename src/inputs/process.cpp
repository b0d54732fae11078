#include "inputs/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <set>

#include "flipflop/source.hpp"

extern char** environ;

namespace flipflop {
namespace {

using Clock = std::chrono::steady_clock;

class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Descriptor() { close(); }
    void close() {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }
    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] bool open() const { return fd_ >= 0; }

private:
    int fd_{-1};
};

struct Pipe { Descriptor read, write; };

/// What would be left behind if this program ended now.
class Unfinished {
public:
    void add(pid_t group) {
        {
            const std::lock_guard lock(mutex_);
            if (!abandoned_) {
                groups_.insert(group);
                return;
            }
        }
        ::kill(-group, SIGKILL);
        wait_for_the_end();
    }
    void remove(pid_t group) {
        {
            const std::lock_guard lock(mutex_);
            groups_.erase(group);
            if (!abandoned_) return;
        }
        wait_for_the_end();
    }
    void add(const std::filesystem::path& folder) {
        const std::lock_guard lock(mutex_);
        folders_.insert(folder);
    }
    void remove(const std::filesystem::path& folder) {
        const std::lock_guard lock(mutex_);
        folders_.erase(folder);
    }
    void abandon() {
        const std::lock_guard lock(mutex_);
        abandoned_ = true;
        for (const pid_t group : groups_) ::kill(-group, SIGKILL);
        for (const std::filesystem::path& folder : folders_) {
            // What was just ended may still be writing a file: once more where one was left.
            std::error_code error;
            for (int round = 0; round < 20 && std::filesystem::exists(folder, error); ++round) {
                std::filesystem::remove_all(folder, error);
                if (error) ::usleep(5000);
            }
        }
    }

private:
    std::mutex mutex_;
    std::set<pid_t> groups_;
    std::set<std::filesystem::path> folders_;
    bool abandoned_{};

    /// What was abandoned must not be reported as a failure of its own while the signal is still on its way.
    [[noreturn]] static void wait_for_the_end() {
        for (;;) ::pause();
    }
};

/// Of the process, as signals and children are.
Unfinished& unfinished() {
    static Unfinished* const all = new Unfinished;   // never destroyed: a thread may still be at it when main returns
    return *all;
}

/// The environment with another TMPDIR: compilers keep files of their own, and leave them where they are stopped.
std::vector<std::string> environment_with(const std::string& temporary_folder) {
    std::vector<std::string> all;
    for (char** entry = environ; *entry != nullptr; ++entry)
        if (std::strncmp(*entry, "TMPDIR=", 7) != 0) all.emplace_back(*entry);
    all.push_back("TMPDIR=" + temporary_folder);
    return all;
}

bool make_pipe(Pipe& pipe) {
    std::array<int, 2> ends{};
    // Close-on-exec from the start: another thread may be starting a program of its own.
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    pipe.read = Descriptor(ends[0]);
    pipe.write = Descriptor(ends[1]);
    return true;
}

Diagnostic cannot_start(const std::string& program, int error) {
    Diagnostic d;
    d.id = "FF0602";
    d.message = "cannot run " + program + ": " + std::strerror(error);
    return d;
}

/// The child leads a process group of its own, so that a time limit ends what it started too.
int spawn(const std::vector<std::string>& arguments, const ProcessOptions& options, Pipe& in, Pipe& out, Pipe& err, pid_t& pid) {
    std::vector<char*> argv;
    for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    std::vector<std::string> environment;
    std::vector<char*> envp;
    if (!options.temporary_folder.empty()) {
        environment = environment_with(options.temporary_folder);
        for (const std::string& entry : environment) envp.push_back(const_cast<char*>(entry.c_str()));
        envp.push_back(nullptr);
    }
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    sigset_t none, pipe_signal;
    ::sigemptyset(&none);
    ::sigemptyset(&pipe_signal);
    ::sigaddset(&pipe_signal, SIGPIPE);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &pipe_signal);
    ::posix_spawn_file_actions_adddup2(&actions, in.read.get(), 0);
    ::posix_spawn_file_actions_adddup2(&actions, out.write.get(), 1);
    ::posix_spawn_file_actions_adddup2(&actions, err.write.get(), 2);
    if (!options.working_directory.empty())
        ::posix_spawn_file_actions_addchdir_np(&actions, options.working_directory.c_str());
    const int error = ::posix_spawn(&pid, arguments[0].c_str(), &actions, &attributes, argv.data(), envp.empty() ? environ : envp.data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    return error;
}

/// Reads what is there; closes the descriptor at end of file.
void drain(Descriptor& from, std::string& into, std::size_t limit, bool& cut) {
    std::array<char, 65536> buffer;
    const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0) {
        from.close();
        return;
    }
    const std::size_t keep = std::min(static_cast<std::size_t>(got), limit - std::min(limit, into.size()));
    into.append(buffer.data(), keep);
    cut |= keep < static_cast<std::size_t>(got);
}

void feed(Descriptor& to, const std::string& from, std::size_t& sent) {
    // MSG_NOSIGNAL does not work on pipes: SIGPIPE is blocked for this thread while we write, and taken off the queue.
    sigset_t pipe_signal, before;
    ::sigemptyset(&pipe_signal);
    ::sigaddset(&pipe_signal, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    const ssize_t wrote = ::write(to.get(), from.data() + sent, from.size() - sent);
    const int error = errno;
    if (wrote < 0 && error == EPIPE) {
        const timespec no_wait{};
        ::sigtimedwait(&pipe_signal, nullptr, &no_wait);
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (wrote > 0) sent += static_cast<std::size_t>(wrote);
    const bool again = wrote < 0 && (error == EAGAIN || error == EINTR);
    if (sent == from.size() || (wrote < 0 && !again)) to.close();
}

class Running {
public:
    Running(pid_t pid, const ProcessOptions& options, Descriptor in, Descriptor out, Descriptor err)
        : pid_(pid), options_(options), in_(std::move(in)), out_(std::move(out)), err_(std::move(err)),
          deadline_(Clock::now() + options.timeout) {
        ::fcntl(in_.get(), F_SETFL, O_NONBLOCK);
        if (options.standard_input.empty()) in_.close();
    }

    ProcessResult wait() {
        while (!ended_ && !result_.timed_out) step();
        // The whole group goes while its leader is not yet reaped: until then no one else can have its number.
        if (result_.timed_out) ::kill(-pid_, SIGKILL);
        // What the program wrote before it ended is still in the pipes; a grandchild may hold them open, so do not wait.
        for (int rounds = 0; rounds < 64 && (out_.open() || err_.open()) && pump(0); ++rounds) {}
        ::kill(-pid_, SIGKILL);
        unfinished().remove(pid_);   // before its number can be another's
        reap();
        return std::move(result_);
    }

private:
    void step() {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
        if (left <= 0) {
            result_.timed_out = true;
            return;
        }
        const bool quiet = !out_.open() && !err_.open();
        if (quiet) ::usleep(500);
        else pump(static_cast<int>(std::min<long long>(left, 20)));
        look();
    }

    /// One round of reading and writing; false when nothing happened.
    bool pump(int wait_ms) {
        std::array<pollfd, 3> fds{pollfd{out_.get(), POLLIN, 0}, pollfd{err_.get(), POLLIN, 0}, pollfd{in_.get(), POLLOUT, 0}};
        if (::poll(fds.data(), fds.size(), wait_ms) <= 0) return false;
        if (fds[0].revents != 0) drain(out_, result_.output, options_.max_output_bytes, result_.output_cut);
        if (fds[1].revents != 0) drain(err_, result_.errors, options_.max_output_bytes, result_.output_cut);
        if (fds[2].revents != 0) feed(in_, options_.standard_input, sent_);
        return true;
    }

    void look() {
        siginfo_t info{};
        ended_ = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ? errno != EINTR : info.si_pid == pid_;
    }

    void reap() {
        int status = 0;
        pid_t got = -1;
        do got = ::waitpid(pid_, &status, 0);
        while (got < 0 && errno == EINTR);
        if (got < 0) return;
        if (WIFEXITED(status)) result_.exit_code = WEXITSTATUS(status);
        if (WIFSIGNALED(status)) result_.signal = WTERMSIG(status);
    }

    pid_t pid_;
    const ProcessOptions& options_;
    Descriptor in_, out_, err_;
    Clock::time_point deadline_;
    std::size_t sent_{};
    bool ended_{};
    ProcessResult result_;
};

}  // namespace

Result<ProcessResult> run_process(const std::vector<std::string>& arguments, const ProcessOptions& options) {
    if (arguments.empty()) return tl::unexpected(cannot_start("nothing", EINVAL));
    Pipe in, out, err;
    if (!make_pipe(in) || !make_pipe(out) || !make_pipe(err)) return tl::unexpected(cannot_start(arguments[0], errno));
    pid_t pid = -1;
    if (const int error = spawn(arguments, options, in, out, err, pid); error != 0)
        return tl::unexpected(cannot_start(arguments[0], error));
    unfinished().add(pid);
    in.read.close();
    out.write.close();
    err.write.close();
    return Running(pid, options, std::move(in.write), std::move(out.read), std::move(err.read)).wait();
}

void abandon_all_work() { unfinished().abandon(); }

std::optional<std::string> find_executable(std::string_view name, std::string_view path) {
    while (!path.empty()) {
        const std::size_t colon = path.find(':');
        const std::string_view folder = path.substr(0, colon);
        path = colon == std::string_view::npos ? std::string_view{} : path.substr(colon + 1);
        if (folder.empty()) continue;   // POSIX means the current folder; a tool found there is no tool asked for
        const std::string candidate = std::string(folder) + "/" + std::string(name);
        struct stat info{};
        if (::stat(candidate.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    }
    return std::nullopt;
}

Result<TemporaryFolder> TemporaryFolder::make(const std::string& parent) {
    std::string pattern = (parent.empty() ? P_tmpdir : parent) + "/flipflop-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) {
        Diagnostic d;
        d.id = "FF0606";
        d.message = "cannot make a temporary folder in " + parent + ": " + std::strerror(errno);
        d.help = "set TMPDIR to a folder that can be written";
        return tl::unexpected(std::move(d));
    }
    return TemporaryFolder(pattern);
}

TemporaryFolder::TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) { unfinished().add(path_); }

TemporaryFolder::~TemporaryFolder() {
    if (path_.empty()) return;
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
    unfinished().remove(path_);
}

}  // namespace flipflop
