// The full metric: a symmetric matrix over all features and the intercept. Euclidean and diagonal
// metrics are in the loops of rows/lanes.hpp.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/block.hpp"
#include "rows/row.hpp"
#include "rows/vectors.hpp"

namespace aggro {

enum class Metric { euclidean, diagonal, adagrad, full };

/// Sigma, with Sigma^-1 = I + sum kappa x x' over the updates. Only the lower triangle is stored,
/// row by row; the last row and column belong to the intercept, if there is one.
///
/// The rank-one change of an update is stored and written during the next product, so that an
/// update costs one pass over the matrix instead of two.
template <class T>
class FullMetric {
  public:
    FullMetric() = default;
    FullMetric(std::size_t features, bool intercept, double prior = 1)
        : features_(features), intercept_(intercept) {
        size_ = features + (intercept ? 1 : 0);
        lower_.assign(size_ * (size_ + 1) / 2, T(0));
        for (std::size_t i = 0; i < size_; ++i) lower_[at(i, i)] = T(1);
        if (intercept) set_intercept(prior);
        image_.assign(size_, T(0));
        vector_.assign(size_, T(0));
        pending_.assign(size_, T(0));
    }

    std::size_t size() const { return size_; }
    const Aligned<T>& image() const { return image_; }

    /// Compute g = Sigma (x, 1); return (x, 1)' g. The image stays valid until the next call.
    template <class Row>
    double squared_length(const Row& x, double scale) {
        std::fill(vector_.begin(), vector_.end(), T(0));
        for (std::size_t k = 0; k < x.size; ++k) vector_[x.feature(k)] = x.values[k];
        // the row is divided by its scale, so the constant feature is 1/scale
        if (intercept_) vector_[features_] = static_cast<T>(1 / scale);
        multiply();
        double v = 0;
        for (std::size_t i = 0; i < size_; ++i)
            v += static_cast<double>(vector_[i]) * static_cast<double>(image_[i]);
        return std::max(v, 0.0);
    }

    /// Write Sigma (x, 1) in double precision, since images of linearly dependent rows are
    /// dependent too.
    template <class Row>
    void write_image(const Row& x, std::vector<double>& image) {
        std::vector<double> vector(size_);
        for (std::size_t k = 0; k < x.size; ++k) vector[x.feature(k)] = x.values[k];
        if (intercept_) vector[features_] = 1;
        image.assign(size_, 0.0);
        const T* row = lower().data();
        for (std::size_t i = 0; i < size_; row += ++i) {
            double total = 0;
            for (std::size_t j = 0; j < i; ++j) {
                const auto entry = static_cast<double>(row[j]);
                total += entry * vector[j];
                image[j] += entry * vector[i];
            }
            image[i] += total + static_cast<double>(row[i]) * vector[i];
        }
    }

    /// Sigma -= g g' kappa / (1 + kappa v), for the last image g and its product v.
    void shrink(double kappa, double v) {
        flush();
        pending_ = image_;
        factor_ = static_cast<T>(1 / (1 / kappa + v));  // also correct for kappa = infinity
    }

    /// Return the variance of the intercept, which must be uncorrelated with all features.
    double intercept() { return static_cast<double>(lower().back()); }
    void set_intercept(double variance) { lower().back() = static_cast<T>(variance); }

    /// Return a copy with more features; new ones are uncorrelated and have variance one.
    FullMetric grown(std::size_t features) {
        return rearranged(features, [](std::size_t i) { return static_cast<std::int64_t>(i); });
    }

    /// Return a copy whose feature j is at place(j), or left out if that is negative; the others
    /// are uncorrelated and have variance one.
    template <class Place>
    FullMetric rearranged(std::size_t features, Place&& place) {
        flush();
        FullMetric other(features, intercept_);
        const auto moved = [&](std::size_t i) {
            return i == features_ ? static_cast<std::int64_t>(features) : place(i);
        };
        for (std::size_t i = 0; i < size_; ++i)
            for (std::size_t j = 0; j <= i; ++j) {
                const std::int64_t a = moved(i), b = moved(j);
                if (a < 0 || b < 0) continue;
                other.lower_[at(static_cast<std::size_t>(std::max(a, b)),
                                static_cast<std::size_t>(std::min(a, b)))] = lower_[at(i, j)];
            }
        return other;
    }

    /// Reset a feature: uncorrelated, with variance one.
    void forget(std::size_t j) {
        flush();
        for (std::size_t i = 0; i < size_; ++i)
            lower_[at(std::max(i, j), std::min(i, j))] = i == j ? T(1) : T(0);
    }

    /// Return the packed lower triangle after writing any pending change.
    Aligned<T>& lower() {
        flush();
        return lower_;
    }

  private:
    static std::size_t at(std::size_t i, std::size_t j) { return i * (i + 1) / 2 + j; }

    void multiply() {
        std::fill(image_.begin(), image_.end(), T(0));
        T* row = lower_.data();
        const T* x = vector_.data();
        T* g = image_.data();
        const T* p = pending_.data();
        for (std::size_t i = 0; i < size_; row += ++i) {
            const T change = factor_ * p[i], xi = x[i];
            if (change != T(0))
                for (std::size_t j = 0; j <= i; ++j) row[j] -= change * p[j];
            for (std::size_t j = 0; j < i; ++j) g[j] += row[j] * xi;
            g[i] += dot(row, x, i) + row[i] * xi;
        }
        factor_ = 0;
    }

    void flush() {
        if (factor_ == T(0)) return;
        T* row = lower_.data();
        for (std::size_t i = 0; i < size_; row += ++i) {
            const T change = factor_ * pending_[i];  // as in `multiply`, to the last bit
            for (std::size_t j = 0; j <= i; ++j) row[j] -= change * pending_[j];
        }
        factor_ = 0;
    }

    std::size_t features_ = 0, size_ = 0;
    bool intercept_ = false;
    Aligned<T> lower_, image_, vector_, pending_;
    T factor_ = 0;
};

}  // namespace aggro
