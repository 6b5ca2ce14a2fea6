// Locks for the objects exposed to Python: one writer or several readers.
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

/// A lock that records the writing thread.
///
/// No thread waits for it while holding the GIL, and no Python code runs while it is held, with one
/// exception: a learner checks for signals between two examples, and a signal handler runs in the
/// learning thread. The handler finds the model in a consistent state and may read it; changing it
/// raises.
class Guard {
  public:
    /// Run `work`, which may take long, without the GIL and while no thread writes.
    template <class Work>
    auto read(Work&& work) {
        nb::gil_scoped_release release;
        std::shared_lock lock(mutex_, std::defer_lock);
        if (!mine()) lock.lock();
        return work();
    }

    /// The same for short reads that keep the GIL.
    template <class Work>
    auto peek(Work&& work) {
        std::shared_lock lock(mutex_, std::defer_lock);
        if (!mine()) enter(lock);
        return work();
    }

    /// Run `work` without the GIL and while no other thread reads or writes.
    template <class Work>
    auto write(Work&& work) {
        return write_all({this}, work);
    }

    /// The same for work without visible changes, which the writing thread may do, too.
    template <class Work>
    auto alone(Work&& work) {
        return alone_with_all({this}, work);
    }

    /// `write` for several objects.
    template <class Work>
    static auto write_all(std::vector<Guard*> guards, Work&& work) {
        for (const Guard* guard : guards)
            if (guard->mine())
                throw std::runtime_error(
                    "the model is learning: a signal handler may predict with it, not change it");
        return alone_with_all(std::move(guards), work);
    }

    /// `alone` for several objects. They are locked in the order of their addresses, to avoid
    /// deadlocks.
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

    /// Locks out other threads; the same thread may lock it again.
    class Hold {
      public:
        explicit Hold(Guard& guard) : Hold(guard, std::defer_lock) {
            if (guard.mine()) return;
            guard.enter(lock_);
            guard.writer_.store(std::this_thread::get_id(), std::memory_order_relaxed);
        }
        Hold(Guard& guard, std::defer_lock_t)
            : guard_(&guard), lock_(guard.mutex_, std::defer_lock) {}
        Hold(Hold&&) = default;
        ~Hold() {
            if (lock_.owns_lock())
                guard_->writer_.store(std::thread::id(), std::memory_order_relaxed);
        }

        /// Lock, unless this thread has the lock; the caller does not hold the GIL.
        void lock() {
            if (guard_->mine()) return;
            lock_.lock();
            guard_->writer_.store(std::this_thread::get_id(), std::memory_order_relaxed);
        }

      private:
        Guard* guard_;
        std::unique_lock<std::shared_mutex> lock_;
    };

  private:
    // Relaxed: a thread finds its own id only if it stored it itself.
    bool mine() const {
        return writer_.load(std::memory_order_relaxed) == std::this_thread::get_id();
    }

    /// Lock; release the GIL while waiting.
    template <class Lock>
    static void enter(Lock& lock) {
        if (lock.try_lock()) return;
        nb::gil_scoped_release release;
        lock.lock();
    }

    std::shared_mutex mutex_;
    std::atomic<std::thread::id> writer_;  ///< the thread that is writing
};

/// A lock of an object that is used only with the GIL, such as a stream. The GIL protects its
/// fields, so that it takes no atomic instruction unless another thread waits. The thread that has
/// it may lock it again; no thread waits for it while holding the GIL.
class GilLock {
  public:
    class Hold {
      public:
        explicit Hold(GilLock& lock) : lock_(lock.take() ? &lock : nullptr) {}
        Hold(const Hold&) = delete;
        ~Hold() {
            if (lock_) lock_->release();
        }

      private:
        GilLock* lock_;  ///< null if this thread had the lock before
    };

  private:
    /// Return false if this thread has the lock already.
    bool take() {
        const std::thread::id self = std::this_thread::get_id();
        while (held_) {
            if (owner_ == self) return false;
            wait();
        }
        held_ = true;
        owner_ = self;
        return true;
    }

    void release() {
        held_ = false;
        if (waiting_ == 0) return;
        ++released_;
        released_.notify_all();
    }

    [[gnu::noinline]] void wait() {
        const unsigned seen = released_;
        ++waiting_;
        {
            nb::gil_scoped_release release;
            released_.wait(seen);
        }
        --waiting_;
    }

    bool held_ = false;
    std::thread::id owner_;
    std::size_t waiting_ = 0;
    std::atomic<unsigned> released_ = 0;  ///< read by waiting threads without the GIL
};

/// Run pending signal handlers; return whether one has raised.
inline bool signalled() {
    nb::gil_scoped_acquire hold;
    return PyErr_CheckSignals() != 0;
}

/// Run `work` and convert its errors to Python exceptions.
template <class Work>
auto in_python_words(Work&& work) {
    try {
        return work();
    } catch (const Interrupted&) {
        throw nb::python_error();  // raised by the signal handler
    } catch (const BadRow& bad) {
        throw nb::value_error(("row " + std::to_string(bad.row) + ": " + bad.what()).c_str());
    } catch (const BadExample& bad) {
        throw nb::value_error(bad.what());
    } catch (const std::overflow_error& overflow) {
        throw nb::value_error(overflow.what());
    }
}

}  // namespace aggro
