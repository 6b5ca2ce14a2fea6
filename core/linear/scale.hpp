// Online scaling of features, row by row, before learning.
#pragma once
#include <cmath>
#include <numeric>
#include <vector>

#include "linear/moments.hpp"
#include "rows/examples.hpp"

namespace aggro {

enum class Scale {
    none,
    online,   ///< divide by the root mean square of nonzero values; zeros stay zero
    standard  ///< subtract the mean, divide by the standard deviation; rows become dense
};

/// The sizes of the features in the rows learned so far.
struct Sizes {
    Scale kind = Scale::none;
    Aligned<double> seen, square;  ///< online: number of nonzero values, and sum of their squares
    Moments moments;               ///< standard

    void begin(Scale scale) {
        kind = scale;
        if (kind == Scale::standard) moments.begin(0);
    }
    /// Allocate memory for more features without adding them.
    void reserve(std::size_t features) {
        if (kind == Scale::standard) moments.reserve(features);
        if (kind != Scale::online) return;
        for (auto* values : {&seen, &square}) reserve_amortised(*values, features);
    }
    void grow(std::size_t features) {
        if (kind == Scale::standard) moments.grow(features);
        if (kind != Scale::online) return;
        seen.resize(features, 0.0);
        square.resize(features, 0.0);
    }
    void forget(std::size_t j) {
        if (kind == Scale::standard) moments.forget(j);
        if (kind == Scale::online) seen[j] = square[j] = 0;
    }

    double centre(std::size_t j) const { return kind == Scale::standard ? moments.mean[j] : 0; }

    /// Return the scaling factor of a feature; 0 for a constant one.
    double factor(std::size_t j) const {
        if (kind == Scale::none) return 1;
        const double size = kind == Scale::standard ? moments.deviation(j)
                            : square[j] > 0         ? std::sqrt(square[j] / seen[j])
                                                    : 0;
        return size > 0 ? 1 / size : 0;
    }

    template <class Row>
    void add(const Row& x) {
        if (kind == Scale::standard) ++moments.rows[0];
        double largest = 0;
        for (std::size_t k = 0; k < x.size; ++k) {
            const std::size_t j = x.feature(k);
            const auto value = static_cast<double>(x.values[k]);
            if (kind == Scale::standard) {
                moments.add(j, value);
                largest += moments.square[j];
            } else if (value != 0) {
                ++seen[j];
                largest += square[j] += value * value;
            }
        }
        if (!std::isfinite(largest)) complain(x);
    }

    template <class Row>
    [[noreturn]] static void complain(const Row& x) {
        for (std::size_t k = 0; k < x.size; ++k)
            if (const auto v = static_cast<double>(x.values[k]); !std::isfinite(v))
                throw BadExample("feature " + std::to_string(x.feature(k)) + " is " +
                                 (std::isnan(v) ? "NaN" : "infinite (inf)"));
        throw BadExample("a feature is too large to be scaled");
    }
};

/// Scales rows for the model; a returned row is valid until the next call.
template <class T, class Row>
class Scaled {
  public:
    Scaled(Sizes& known, const std::size_t& all_features) : sizes(known), features(all_features) {}

    /// Update the sizes with a row that will be learned, and scale it.
    [[gnu::always_inline]] const Row& learn(const Row& x) {
        return sizes.kind == Scale::none ? x : scale(x, true);
    }

    [[gnu::always_inline]] const Row& apply(const Row& x) {
        return sizes.kind == Scale::none ? x : scale(x, false);
    }

  private:
    using Index = typename Row::Index;

    [[gnu::noinline]] const Row& scale(const Row& x, bool counts) {
        scaled = complete(x);
        if (counts) sizes.add(scaled);
        divide();
        return scaled;
    }

    /// Add the zeros of a sparse row if scaling changes them.
    Row complete(const Row& x) {
        if constexpr (Row::dense) {
            return x;
        } else {
            if (sizes.kind != Scale::standard) return x;
            values.assign(features, T(0));
            for (std::size_t k = 0; k < x.size; ++k)
                values[x.feature(k)] += x.values[k];  // hashed names may share a feature
            const std::size_t known = indices.size();
            indices.resize(features);
            if (known < features) std::iota(indices.begin(), indices.end(), static_cast<Index>(0));
            return {values.data(), indices.data(), features};
        }
    }

    void divide() {
        values.resize(scaled.size);
        for (std::size_t k = 0; k < scaled.size; ++k) {
            const std::size_t j = scaled.feature(k);
            const double moved = static_cast<double>(scaled.values[k]) - sizes.centre(j);
            values[k] = static_cast<T>(moved * sizes.factor(j));
        }
        scaled.values = values.data();
    }

    Sizes& sizes;
    const std::size_t& features;
    Row scaled{};
    std::vector<T> values;
    std::vector<Index> indices;
};

}  // namespace aggro
