#include "cli/interruption.hpp"

#include <csignal>
#include <system_error>
#include <thread>

#include <pthread.h>
#include <unistd.h>

#include "flipflop/source.hpp"

namespace flipflop::cli {

void clean_up_when_interrupted() {
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction now{};
        if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) { ::sigaddset(&signals, signal); }
    }
    sigset_t before;
    if (::pthread_sigmask(SIG_BLOCK, &signals, &before) != 0) { return; }
    try {
        std::thread([signals] {
            int signal = 0;
            if (::sigwait(&signals, &signal) != 0) { return; }
            abandon_all_work();
            std::signal(signal, SIG_DFL);
            ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
            ::kill(::getpid(), signal);
        }).detach();
    } catch (const std::system_error&) {   // no thread to be had: as without all this
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
}

}  // namespace flipflop::cli
