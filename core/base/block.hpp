// Growable, aligned tables with one row per feature.
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

/// Allocator aligned to cache lines. Sums then have the same order in every run, and threads that
/// work on different lines do not share cache lines.
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

/// Reserve capacity for `size` values. The capacity at least doubles, so the cost is amortised.
template <class T>
inline void reserve_amortised(Aligned<T>& values, std::size_t size) {
    if (size > values.capacity()) values.reserve(std::max(size, 2 * values.capacity()));
}

/// Table of `rows` rows with `stride` values each. Copies share memory until one of them grows, so
/// views that were handed out stay valid.
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

    /// Reserve capacity for more rows; the capacity at least doubles. The memory is zeroed lazily
    /// by the operating system, so unused rows cost nothing.
    void reserve(std::size_t rows) {
        if (rows > capacity_) reallocate(capacity_ == 0 ? rows : std::max(rows, 2 * capacity_));
    }

    /// Append rows of zeros up to `rows`; existing values are kept.
    void grow(std::size_t rows) {
        reserve(rows);
        rows_ = std::max(rows_, rows);
    }

    /// Stop sharing memory with copies.
    void detach() {
        if (data_) reallocate(capacity_);
    }

  private:
    static constexpr std::size_t alignment = 64;  // size of a cache line and of the widest vector
    static constexpr std::size_t behind = 32;     // bytes that may be read after the last row

    void reallocate(std::size_t capacity) {
        const std::size_t bytes = product(capacity, stride_, sizeof(T)) + behind;
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

    /// Poison the memory after the last row for AddressSanitizer.
    static void forbid([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
        __asan_poison_memory_region(memory, bytes);
#endif
    }

    /// Ask for huge pages: rows access weights all over a large block, and with small pages TLB
    /// misses dominate.
    static void prefer_large_pages([[maybe_unused]] void* memory,
                                   [[maybe_unused]] std::size_t bytes) {
#if defined(MADV_HUGEPAGE)
        constexpr std::size_t page = 4096, large = std::size_t{4} << 20;
        std::size_t space = bytes;
        if (bytes < large || !std::align(page, bytes - page, memory, space)) return;
        madvise(memory, space / page * page, MADV_HUGEPAGE);  // only a hint
#endif
    }

    std::shared_ptr<T[]> data_;
    std::size_t rows_ = 0, stride_ = 0, capacity_ = 0;
};

}  // namespace aggro
