// Running mean, deviation and ranks of the columns of a table.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "rows/examples.hpp"

namespace aggro {

/// Statistics of columns over the rows learned so far; NaN is a missing value.
///
/// Copies are cheap: the sample and the ranks are shared until one of them changes. Values of a new
/// column were zero so far.
struct Columns {
    static constexpr std::size_t capacity = 512;  ///< rows in the sample that defines the ranks
    static constexpr double limit = 4;            ///< of standardised values

    std::uint64_t seed = 0;
    std::uint64_t rows = 0;
    std::vector<double> mean, square, missing;  ///< square: sum of squared distances to the mean

    /// A uniform sample of the rows learned so far (column by column, `capacity` values each).
    std::shared_ptr<std::vector<double>> sample = std::make_shared<std::vector<double>>();

    /// The empirical distribution of each column when the number of rows was last a power of four:
    /// its distinct values, and the number of sampled values up to each of them.
    struct Ranks {
        std::vector<std::int64_t> start;  ///< of each column in the other two; one entry more
        std::vector<double> values;
        std::vector<std::int32_t> up_to;
    };
    std::shared_ptr<const Ranks> ranks = std::make_shared<Ranks>(Ranks{{0}, {}, {}});

    std::size_t count() const { return mean.size(); }

    void grow(std::size_t columns) {
        if (columns <= count()) return;
        for (auto* values : {&mean, &square, &missing}) values->resize(columns, 0.0);
        auto wider = std::make_shared<std::vector<double>>(*sample);
        wider->resize(columns * capacity, 0.0);
        sample = std::move(wider);
        if (rows == 0) return;
        auto known = std::make_shared<Ranks>(*ranks);
        while (known->start.size() <= columns) {
            known->values.push_back(0.0);
            known->up_to.push_back(1);
            known->start.push_back(static_cast<std::int64_t>(known->values.size()));
        }
        ranks = std::move(known);
    }

    /// Add a row of all columns.
    void add(const double* row) {
        ++rows;
        const auto n = static_cast<double>(rows);
        double largest = 0;
        for (std::size_t j = 0; j < count(); ++j) {
            const double value = row[j];
            if (value != value) {
                ++missing[j];
                continue;
            }
            const double change = value - mean[j];
            mean[j] += change / (n - missing[j]);
            square[j] += change * (value - mean[j]);
            largest += square[j];
        }
        if (!std::isfinite(largest)) complain(row);
        put_into_sample(row);
        if (std::has_single_bit(rows) && std::countr_zero(rows) % 2 == 0) find_ranks();
    }

    /// Return the value minus the mean in standard deviations; zero for a constant column.
    double standardised(std::size_t j, double value) const {
        const double known = static_cast<double>(rows) - missing[j];
        if (!(square[j] > 0)) return 0;
        return std::clamp((value - mean[j]) / std::sqrt(square[j] / known), -limit, limit);
    }

    /// Return the share of sampled values below this one, counting equal ones half.
    double rank(std::size_t j, double value) const {
        if (j + 1 >= ranks->start.size()) return 0.5;
        const std::int64_t start = ranks->start[j], size = ranks->start[j + 1] - start;
        if (size == 0) return 0.5;
        const double* values = ranks->values.data() + start;
        const std::int32_t* up_to = ranks->up_to.data() + start;
        std::int64_t at = 0;  // first value that is not below, found without branches
        for (std::int64_t left = size; left > 0;) {
            const std::int64_t half = (left + 1) / 2;
            at += values[at + half - 1] < value ? half : 0;
            left -= half;
        }
        const double below = at > 0 ? up_to[at - 1] : 0;
        const bool equal = at < size && values[at] == value;
        return (below + (equal ? up_to[at] : below)) / (2.0 * up_to[size - 1]);
    }

  private:
    /// Add a row to the sample with equal probability for all rows (reservoir sampling).
    void put_into_sample(const double* row) {
        std::uint64_t state = seed + rows * 0x9E3779B97F4A7C15ULL;
        const std::uint64_t slot = rows <= capacity ? rows - 1 : random_bits(state) % rows;
        if (slot >= capacity) return;
        if (sample.use_count() > 1) sample = std::make_shared<std::vector<double>>(*sample);
        for (std::size_t j = 0; j < count(); ++j) (*sample)[j * capacity + slot] = row[j];
    }

    void find_ranks() {
        auto fresh = std::make_shared<Ranks>(Ranks{{0}, {}, {}});
        const auto filled = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(rows, capacity));
        std::vector<double> sorted;
        for (std::size_t j = 0; j < count(); ++j) {
            const auto from = sample->begin() + static_cast<std::ptrdiff_t>(j * capacity);
            sorted.clear();
            std::copy_if(from, from + filled, std::back_inserter(sorted),
                         [](double value) { return value == value; });
            std::sort(sorted.begin(), sorted.end());
            for (std::size_t k = 0; k < sorted.size(); ++k) {
                if (k + 1 < sorted.size() && sorted[k] == sorted[k + 1]) continue;
                fresh->values.push_back(sorted[k]);
                fresh->up_to.push_back(static_cast<std::int32_t>(k + 1));
            }
            fresh->start.push_back(static_cast<std::int64_t>(fresh->values.size()));
        }
        ranks = std::move(fresh);
    }

    [[noreturn]] static void complain(const double* row) {
        std::size_t j = 0;
        while (std::abs(row[j]) < 1e150) ++j;
        throw BadExample(
            "feature " + std::to_string(j) +
            (std::isinf(row[j]) ? " is infinite (inf)" : " is too large to be scaled"));
    }
};

}  // namespace aggro
