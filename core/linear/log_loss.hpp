// The log loss of scores multiplied by the factor that minimises it.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "rows/exp.hpp"

namespace aggro {

/// The log loss of rows as a function of the factor f applied to their scores. With `missed` =
/// highest score - score of the true class, and `below` = other scores - highest, the loss of a row
/// is log(1 + sum exp(f below)) + f missed.
class LogLoss {
  public:
    /// Reserve memory for rows of `scores` scores. The weights of the rows must sum to 1.
    LogLoss(std::size_t rows, std::size_t scores) : others_(scores - 1) {
        below_.reserve(rows * others_ + wide);
        missed_.reserve(rows);
        weights_.reserve(rows);
    }

    void add(const double* scores, std::size_t right, double weight) {
        const double* end = scores + others_ + 1;
        const double* highest = std::max_element(scores, end);
        for (const double* each = scores; each < end; ++each)
            if (each != highest) below_.push_back(*each - *highest);
        missed_.push_back(*highest - scores[right]);
        weights_.push_back(weight);
    }

    /// Add a row of two scores; `margin` is the score of the true class minus the other.
    void add(double margin, double weight) {
        below_.push_back(-std::abs(margin));
        missed_.push_back(std::max(-margin, 0.0));
        weights_.push_back(weight);
    }

    /// Return the loss at the best factor between 1/256 and 256, to 1e-12, by Newton's method. If a
    /// step leaves the interval that contains the minimum, the interval is halved.
    double smallest() {
        double low = 1.0 / 256, high = 256, factor = 1;
        below_.resize(missed_.size() * others_ + wide);  // whole vectors
        powers_.resize(below_.size());
        if (at(high).slope <= 0) return value(high);
        if (at(low).slope >= 0) return value(low);
        for (int i = 0; i < 100; ++i) {
            const auto [slope, curvature] = at(factor);
            const double step = slope / curvature;
            if (!(slope * step > 1e-12)) break;
            (slope > 0 ? high : low) = factor;
            const bool inside = factor - step > low && factor - step < high;
            factor = inside ? factor - step : std::sqrt(low * high);
        }
        return value(factor);
    }

  private:
    struct Derivatives {
        double slope = 0, curvature = 0;
    };

    void exponentiate(double factor) {
        for (std::size_t i = 0; i < missed_.size() * others_; i += wide)
            store<double, wide_bytes>(
                &powers_[i], exp_of_negative(factor * load<double, wide_bytes>(&below_[i])));
    }

    Derivatives at(double factor) {
        exponentiate(factor);
        Derivatives sum;
        const double *power = powers_.data(), *below = below_.data();
        for (std::size_t i = 0; i < missed_.size(); ++i, power += others_, below += others_) {
            double total = 1, first = 0, second = 0;
            for (std::size_t k = 0; k < others_; ++k) {
                total += power[k];
                first += power[k] * below[k];
                second += power[k] * below[k] * below[k];
            }
            const double mean = first / total;
            sum.slope += weights_[i] * (missed_[i] + mean);
            sum.curvature += weights_[i] * (second / total - mean * mean);
        }
        return sum;
    }

    double value(double factor) {
        exponentiate(factor);
        double loss = 0;
        const double* power = powers_.data();
        for (std::size_t i = 0; i < missed_.size(); ++i, power += others_) {
            double total = 0;
            for (std::size_t k = 0; k < others_; ++k) total += power[k];
            loss += weights_[i] * (std::log1p(total) + factor * missed_[i]);
        }
        return loss;
    }

    std::size_t others_;
    std::vector<double> below_, missed_, weights_, powers_;
};

}  // namespace aggro
