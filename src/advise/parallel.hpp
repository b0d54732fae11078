// Owns: running independent jobs on a few threads. Results go to places of their own, so the outcome does not depend on
// the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace flipflop::advise {

template <class Job>
void parallel_for(std::size_t count, unsigned threads, Job&& job) {
    const std::size_t workers = std::min<std::size_t>(std::max(1u, threads), count);
    if (workers <= 1) {
        for (std::size_t i = 0; i < count; ++i) job(i);
        return;
    }
    std::atomic<std::size_t> next{0};
    std::vector<std::exception_ptr> failures(workers);
    std::vector<std::thread> pool;
    for (std::size_t w = 0; w < workers; ++w)
        pool.emplace_back([&, w] {
            try {
                for (std::size_t i; (i = next.fetch_add(1)) < count;) job(i);
            } catch (...) {
                failures[w] = std::current_exception();
            }
        });
    for (std::thread& thread : pool) thread.join();
    for (const std::exception_ptr& failure : failures)
        if (failure) std::rethrow_exception(failure);
}

}  // namespace flipflop::advise
