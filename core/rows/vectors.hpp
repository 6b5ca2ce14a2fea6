// Vectors of the machine, and how blocks of lanes are padded to whole ones.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

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
/// The lower (0) or upper (1) half of a vector.
template <std::size_t half, class T, std::size_t Bytes>
[[gnu::always_inline]] inline Vector<T, Bytes / 2> half_of(Vector<T, Bytes> v) {
    constexpr std::size_t count = Bytes / sizeof(T) / 2;
    return [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
        return __builtin_shufflevector(v, v, (half * count + i)...);
    }(std::make_index_sequence<count>());
}

/// A vector folded, half on half, until `count` numbers are left.
template <std::size_t count, class T, std::size_t Bytes>
[[gnu::always_inline]] inline Vector<T, count * sizeof(T)> folded(Vector<T, Bytes> v) {
    if constexpr (Bytes == count * sizeof(T))
        return v;
    else
        return folded<count, T, Bytes / 2>(half_of<0, T, Bytes>(v) + half_of<1, T, Bytes>(v));
}

/// The sum of the numbers of a vector, in a fixed order and few steps.
template <class T, std::size_t Bytes>
[[gnu::always_inline]] inline T sum(Vector<T, Bytes> v) {
    const auto two = folded<2, T, Bytes>(v);
    return two[0] + two[1];
}

/// The sum of a[k] * b[k].
template <class T>
inline T dot(const T* a, const T* b, std::size_t size) {
    constexpr std::size_t bytes = 64, width = bytes / sizeof(T), chains = 4;
    Vector<T, bytes> sums[chains] = {};
    std::size_t k = 0;
    for (; k + chains * width <= size; k += chains * width)
        for (std::size_t c = 0; c < chains; ++c)
            sums[c] += load<T, bytes>(a + k + c * width) * load<T, bytes>(b + k + c * width);
    for (; k + width <= size; k += width) sums[0] += load<T, bytes>(a + k) * load<T, bytes>(b + k);
    T total = sum<T, bytes>((sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (; k < size; ++k) total += a[k] * b[k];
    return total;
}

/// True if a bit of the vector is set.
template <class T, std::size_t Bytes>
[[gnu::always_inline]] inline bool any_bit(Vector<T, Bytes> v) {
    using Word = std::uint64_t;
    const auto words = reinterpret_cast<Vector<Word, Bytes>>(v);
    if constexpr (Bytes == 2 * sizeof(Word))
        return (words[0] | words[1]) != 0;
    else
        return any_bit<Word, Bytes / 2>(half_of<0, Word, Bytes>(words) |
                                        half_of<1, Word, Bytes>(words));
}

/// Rounds a part of a sum or product on its own. Compilers may fuse a product with a sum, and do so
/// differently in tiles of different width: without this an output would not learn the same in all.
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
