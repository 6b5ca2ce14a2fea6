// One example: its values and their features.
#pragma once
#include <cstddef>
#include <cstdint>

namespace aggro {

/// A dense row: all features in order.
template <class T>
struct DenseRow {
    using Value = T;
    using Index = std::int64_t;
    static constexpr bool dense = true;
    const T* values;
    std::size_t size;

    std::size_t feature(std::size_t k) const { return k; }
};

/// A sparse row: the features in `indices`, each at most once; all others are zero.
template <class T, class I>
struct SparseRow {
    using Value = T;
    using Index = I;
    static constexpr bool dense = false;
    const T* values;
    const I* indices;
    std::size_t size;

    std::size_t feature(std::size_t k) const { return static_cast<std::size_t>(indices[k]); }
};

}  // namespace aggro
