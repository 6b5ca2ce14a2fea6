// Vectors of the machine, and how blocks of lanes are padded to whole ones.
#pragma once
#include <array>
#include <cstddef>

namespace aggro {

/// A SIMD vector of `Bytes` bytes of T; the compiler lowers it to what the machine has.
template <class T, std::size_t Bytes>
struct VectorOf {
    typedef T type __attribute__((vector_size(Bytes), aligned(alignof(T)), may_alias));
    static constexpr std::size_t width = Bytes / sizeof(T);
};
template <class T, std::size_t Bytes>
using Vector = typename VectorOf<T, Bytes>::type;

template <class T, std::size_t Bytes>
inline Vector<T, Bytes> load(const T* p) {
    return *reinterpret_cast<const Vector<T, Bytes>*>(p);
}
template <class T, std::size_t Bytes>
inline void store(T* p, Vector<T, Bytes> v) {
    *reinterpret_cast<Vector<T, Bytes>*>(p) = v;
}
template <class T, std::size_t Bytes>
inline T sum(Vector<T, Bytes> v) {
    T total = 0;
    for (std::size_t i = 0; i < Bytes / sizeof(T); ++i) total += v[i];
    return total;
}

/// Keeps a part of a sum or product together. The build lets the compiler regroup both, and it does
/// so differently in tiles of different width: without this a lane would not learn the same in all.
template <class V>
[[gnu::always_inline]] inline V together(V part) {
#if defined(__clang__)
    return __arithmetic_fence(part);
#elif __GNUC__ >= 12
    return __builtin_assoc_barrier(part);
#else
    return part;
#endif
}

/// Before a loop over lanes: they are independent, so no check for overlap need precede its
/// vectors.
#if defined(__clang__)
#define AGGRO_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define AGGRO_LANES _Pragma("GCC ivdep")
#endif

/// How many values one feature's block of `lanes` outputs takes, padded to whole vectors.
template <class T>
constexpr std::size_t padded(std::size_t lanes) {
    if (lanes <= 1) return lanes;
    const std::size_t bytes = lanes * sizeof(T), unit = bytes <= 16 ? 16 : 32;
    return (bytes + unit - 1) / unit * unit / sizeof(T);
}

/// Ones for the last `rest` entries of a block that overlaps the one before, else zeros: what was
/// counted already is masked out, for a loop over the rest would cost more than all of it.
template <class T, std::size_t width>
inline const T* uncounted(std::size_t rest) {
    static constexpr auto mask = [] {
        std::array<T, 2 * width> values{};
        for (std::size_t i = width; i < 2 * width; ++i) values[i] = 1;
        return values;
    }();
    return mask.data() + rest;
}

}  // namespace aggro
