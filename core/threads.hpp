// Several threads for one piece of work.
#pragma once
#include <cstddef>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace aggro {

/// Runs `job(t, at)` for t = 0 .. count - 1, each in a thread of its own, and waits for all. A job
/// notes in `at` how far it came: of several failures, the one that comes first in the rows is
/// thrown, as one thread would have done.
template <class Job>
inline void together(std::size_t count, Job&& job) {
    struct alignas(64) Outcome {
        std::size_t at = 0;
        std::exception_ptr failure;
    };
    std::vector<Outcome> outcomes(count);
    const auto run = [&](std::size_t t) {
        try {
            job(t, outcomes[t].at);
        } catch (...) {
            outcomes[t].failure = std::current_exception();
        }
    };
    std::vector<std::thread> others;
    for (std::size_t t = 1; t < count; ++t) {
        try {
            others.emplace_back(run, t);
        } catch (const std::system_error&) {  // no more threads to be had
            run(t);
        }
    }
    run(0);
    for (auto& thread : others) thread.join();
    const Outcome* first = nullptr;
    for (const Outcome& outcome : outcomes)
        if (outcome.failure && (!first || outcome.at < first->at)) first = &outcome;
    if (first) std::rethrow_exception(first->failure);
}

}  // namespace aggro
