// Memory of a model: a growing, aligned table with one line per feature.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "base/memory.hpp"
#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace aggro {

/// Allocates on cache lines: the same sums are taken in the same order in every run, and threads
/// that work on different lines do not wait for each other.
template <class T>
struct LineAllocator {
    using value_type = T;
    LineAllocator() = default;
    template <class U>
    LineAllocator(const LineAllocator<U>&) {}
    T* allocate(std::size_t n) {
        return static_cast<T*>(::operator new(product(n, sizeof(T)), line));
    }
    void deallocate(T* p, std::size_t) { ::operator delete(p, line); }
    bool operator==(const LineAllocator&) const { return true; }

  private:
    static constexpr std::align_val_t line{64};
};
template <class T>
using Aligned = std::vector<T, LineAllocator<T>>;

/// Room for `size` values; it at least doubles, as if they were added one by one.
template <class T>
inline void reserve_amortised(Aligned<T>& values, std::size_t size) {
    if (size > values.capacity()) values.reserve(std::max(size, 2 * values.capacity()));
}

/// `rows` lines of `stride` values. Copies share memory until one of them grows, so that a view
/// handed out stays valid.
template <class T>
class Block {
  public:
    Block() = default;
    explicit Block(std::size_t stride) : stride_(stride) {}

    T* data() { return data_.get(); }
    const T* data() const { return data_.get(); }
    T* row(std::size_t j) { return data_.get() + j * stride_; }
    const T* row(std::size_t j) const { return data_.get() + j * stride_; }
    std::size_t rows() const { return rows_; }
    std::size_t stride() const { return stride_; }
    std::size_t size() const { return rows_ * stride_; }
    std::shared_ptr<T[]> share() const { return data_; }

    /// Makes room for more lines, which cost nothing until they are used: memory comes zeroed, and
    /// what is not touched is not there. Amortised: capacity at least doubles.
    void make_room(std::size_t rows) {
        if (rows > capacity_) reserve(capacity_ == 0 ? rows : std::max(rows, 2 * capacity_));
    }

    /// Adds lines of zeros; what is there keeps its value.
    void grow(std::size_t rows) {
        make_room(rows);
        rows_ = std::max(rows_, rows);
    }

    /// From here on the memory is its own: what copies write is not seen here.
    void detach() {
        if (data_) reserve(capacity_);
    }

  private:
    static constexpr std::size_t alignment = 64;  // a cache line, and the widest vector

    void reserve(std::size_t capacity) {
        const std::size_t bytes = product(capacity, stride_, sizeof(T));
        std::size_t space = bytes + alignment;
        std::shared_ptr<void> memory(std::calloc(space, 1), std::free);
        if (!memory) throw std::bad_alloc();
        void* aligned = memory.get();
        std::align(alignment, space - alignment, aligned, space);
        prefer_large_pages(aligned, space);
        forbid(static_cast<char*>(aligned) + bytes, space - bytes);
        std::shared_ptr<T[]> fresh(memory, static_cast<T*>(aligned));
        if (size() > 0) std::memcpy(fresh.get(), data_.get(), size() * sizeof(T));
        data_ = std::move(fresh);
        capacity_ = capacity;
    }

    /// Poisons the memory behind the last line for the address sanitizer.
    static void forbid([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
        __asan_poison_memory_region(memory, bytes);
#endif
    }

    /// A row touches weights all over a large block: with small pages, finding them costs most.
    static void prefer_large_pages([[maybe_unused]] void* memory,
                                   [[maybe_unused]] std::size_t bytes) {
#if defined(MADV_HUGEPAGE)
        constexpr std::size_t page = 4096, large = std::size_t{4} << 20;
        std::size_t space = bytes;
        if (bytes < large || !std::align(page, bytes - page, memory, space)) return;
        madvise(memory, space / page * page, MADV_HUGEPAGE);  // it may be ignored
#endif
    }

    std::shared_ptr<T[]> data_;
    std::size_t rows_ = 0, stride_ = 0, capacity_ = 0;
};

}  // namespace aggro
