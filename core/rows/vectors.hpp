// SIMD vectors, and the padding of blocks to whole vectors.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace aggro {

/// A SIMD vector of `Bytes` bytes of T; the compiler maps it to the registers of the machine.
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
/// Return the lower (0) or upper (1) half of a vector.
template <std::size_t half, class T, std::size_t Bytes>
[[gnu::always_inline]] inline Vector<T, Bytes / 2> half_of(Vector<T, Bytes> v) {
    constexpr std::size_t count = Bytes / sizeof(T) / 2;
    return [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
        return __builtin_shufflevector(v, v, (half * count + i)...);
    }(std::make_index_sequence<count>());
}

/// Add the halves of a vector repeatedly, until `count` numbers are left.
template <std::size_t count, class T, std::size_t Bytes>
[[gnu::always_inline]] inline Vector<T, count * sizeof(T)> folded(Vector<T, Bytes> v) {
    if constexpr (Bytes == count * sizeof(T))
        return v;
    else
        return folded<count, T, Bytes / 2>(half_of<0, T, Bytes>(v) + half_of<1, T, Bytes>(v));
}

/// Return the sum of the numbers of a vector, in a fixed order.
template <class T, std::size_t Bytes>
[[gnu::always_inline]] inline T sum(Vector<T, Bytes> v) {
    const auto two = folded<2, T, Bytes>(v);
    return two[0] + two[1];
}

/// Return the sum of a[k] * b[k].
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

/// Return whether a bit of the vector is set.
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

/// Round a part of a sum or product separately. Compilers may fuse products and sums, differently
/// in tiles of different width; without this barrier an output would learn differently in each.
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

/// Marks a loop over independent lanes, so that the compiler vectorises it without checks for
/// overlap.
#if defined(__clang__)
#define AGGRO_VECTORISE _Pragma("clang loop vectorize(assume_safety)")
#else
#define AGGRO_VECTORISE _Pragma("GCC ivdep")
#endif

/// Return the number of values of a feature's block for `lanes` outputs, padded to whole vectors.
template <class T>
constexpr std::size_t padded(std::size_t lanes) {
    if (lanes <= 1) return lanes;
    const std::size_t bytes = lanes * sizeof(T), unit = bytes <= 16 ? 16 : 32;
    return (bytes + unit - 1) / unit * unit / sizeof(T);
}

/// Return ones for the last `rest` entries of a block that overlaps the previous one, else zeros.
/// Masking the counted values is faster than a scalar loop over the rest.
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
