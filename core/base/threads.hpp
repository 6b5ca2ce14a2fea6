// Parallel execution of independent jobs.
#pragma once
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace aggro {

/// Run `job(i, at)` for i = 0 .. jobs - 1 in at most `threads` threads and wait for all of them.
/// Jobs write their progress to `at`. If several fail, rethrow the failure with the least progress
/// (the first of equals) and set `reached` to that progress, so that the result does not depend on
/// the number of threads. If threads cannot be started, the calling thread runs the remaining jobs.
template <class Job>
inline void together(std::size_t jobs, std::size_t threads, Job&& job, std::size_t& reached) {
    struct alignas(64) Outcome {
        std::size_t at = 0;
        std::exception_ptr failure;
    };
    std::vector<Outcome> outcomes(jobs);
    std::atomic<std::size_t> next = 0;
    const auto run = [&] {
        for (std::size_t i = next++; i < jobs; i = next++) {
            try {
                job(i, outcomes[i].at);
            } catch (...) {
                outcomes[i].failure = std::current_exception();
            }
        }
    };
    std::vector<std::thread> others;
    others.reserve(threads);
    try {
        while (others.size() + 1 < threads) others.emplace_back(run);
    } catch (const std::exception&) {  // the system has no more threads
    }
    run();
    for (auto& thread : others) thread.join();
    const Outcome* first = nullptr;
    for (const Outcome& outcome : outcomes)
        if (outcome.failure && (!first || outcome.at < first->at)) first = &outcome;
    if (!first) return;
    reached = first->at;
    std::rethrow_exception(first->failure);
}

template <class Job>
inline void together(std::size_t jobs, std::size_t threads, Job&& job) {
    std::size_t reached = 0;
    together(jobs, threads, job, reached);
}

}  // namespace aggro
