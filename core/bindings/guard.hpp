// Locks of the objects that Python holds: one thread writes, or several read.
#pragma once
#include <nanobind/nanobind.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "linear/passes.hpp"

namespace aggro {

namespace nb = nanobind;

/// A lock that knows which thread is changing what it guards.
///
/// Nobody waits for it while holding the interpreter's lock, and nothing that runs behind it runs
/// Python code, with one exception: a learner asks for signals between two examples, and the
/// handler runs in the thread that learns. It finds the model whole and may look at it; to change
/// it there is refused. A stream runs Python code too, and may come back through its own door.
class Guard {
  public:
    /// Runs `work`, which may take long, without the interpreter's lock and while nobody writes.
    template <class Work>
    auto read(Work&& work) {
        nb::gil_scoped_release release;
        std::shared_lock lock(mutex_, std::defer_lock);
        if (!mine()) lock.lock();
        return work();
    }

    /// The same for a few numbers, not worth letting go of the interpreter.
    template <class Work>
    auto peek(Work&& work) {
        std::shared_lock lock(mutex_, std::defer_lock);
        if (!mine()) enter(lock);
        return work();
    }

    /// Runs `work` without the interpreter's lock and while nobody else reads or writes.
    template <class Work>
    auto write(Work&& work) {
        return write_all({this}, work);
    }

    /// The same for what changes nothing that can be seen: the thread that learns may do it, too.
    template <class Work>
    auto alone(Work&& work) {
        return alone_with_all({this}, work);
    }

    /// `write` for several at once.
    template <class Work>
    static auto write_all(std::vector<Guard*> guards, Work&& work) {
        for (const Guard* guard : guards)
            if (guard->mine())
                throw std::runtime_error(
                    "the model is learning: a signal handler may predict with it, not change it");
        return alone_with_all(std::move(guards), work);
    }

    /// `alone` for several at once. They are always entered in the order of their addresses, so
    /// that two threads cannot wait for each other.
    template <class Work>
    static auto alone_with_all(std::vector<Guard*> guards, Work&& work) {
        std::sort(guards.begin(), guards.end());
        if (std::adjacent_find(guards.begin(), guards.end()) != guards.end())
            throw std::invalid_argument("a model is given twice");
        nb::gil_scoped_release release;
        std::vector<Hold> holds;
        holds.reserve(guards.size());
        for (Guard* guard : guards) holds.emplace_back(*guard, std::defer_lock);
        for (Hold& hold : holds) hold.lock();
        return work();
    }

    /// Keeps other threads out while it lives; this one may come in again.
    class Hold {
      public:
        explicit Hold(Guard& guard) : Hold(guard, std::defer_lock) {
            if (guard.mine()) return;
            guard.enter(lock_);
            guard.writer_ = std::this_thread::get_id();
        }
        Hold(Guard& guard, std::defer_lock_t)
            : guard_(&guard), lock_(guard.mutex_, std::defer_lock) {}
        Hold(Hold&&) = default;
        ~Hold() {
            if (lock_.owns_lock()) guard_->writer_ = std::thread::id();
        }

        /// Waits, unless it is held already; the caller does not hold the interpreter's lock.
        void lock() {
            if (guard_->mine()) return;
            lock_.lock();
            guard_->writer_ = std::this_thread::get_id();
        }

      private:
        Guard* guard_;
        std::unique_lock<std::shared_mutex> lock_;
    };

  private:
    bool mine() const { return writer_.load() == std::this_thread::get_id(); }

    /// Waits without the interpreter's lock, if there is somebody to wait for.
    template <class Lock>
    static void enter(Lock& lock) {
        if (lock.try_lock()) return;
        nb::gil_scoped_release release;
        lock.lock();
    }

    std::shared_mutex mutex_;
    std::atomic<std::thread::id> writer_;  ///< the thread that is changing what is guarded
};

/// Whether a signal has come whose handler wants to stop; handlers run here.
inline bool signalled() {
    nb::gil_scoped_acquire hold;
    return PyErr_CheckSignals() != 0;
}

/// Runs `work` and converts its errors to Python exceptions.
template <class Work>
auto in_python_words(Work&& work) {
    try {
        return work();
    } catch (const Interrupted&) {
        throw nb::python_error();  // the one that the handler has raised
    } catch (const BadRow& bad) {
        throw nb::value_error(("row " + std::to_string(bad.row) + ": " + bad.what()).c_str());
    } catch (const BadExample& bad) {
        throw nb::value_error(bad.what());
    } catch (const std::overflow_error& overflow) {
        throw nb::value_error(overflow.what());
    }
}

}  // namespace aggro
