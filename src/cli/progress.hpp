// Owns: how far a long run has come: one line on standard error, where that is a terminal, after a second. Calls come one at
// a time, from any thread.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include <unistd.h>

namespace flipflop::cli {

class Progress {
public:
    explicit Progress(std::string what) : what_(std::move(what)), on_(isatty(STDERR_FILENO) != 0), begin_(Clock::now()) {}
    void operator()(std::size_t done, std::size_t all) {
        if (!on_ || Clock::now() - begin_ < std::chrono::seconds(1)) { return; }
        shown_ = true;
        std::fprintf(stderr, "\r\x1b[Kflipflop: %zu of %zu %s", done, all, what_.c_str());
    }
    void end() const {
        if (shown_) { std::fputs("\r\x1b[K", stderr); }
    }

private:
    using Clock = std::chrono::steady_clock;
    std::string what_;
    bool on_, shown_{};
    Clock::time_point begin_;
};

}  // namespace flipflop::cli
