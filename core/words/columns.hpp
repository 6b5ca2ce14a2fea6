// Hashed features to columns, and columns to the places that a model keeps for those it has met.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace aggro::words {

/// The column of a hash among `count`, and its sign, as scikit-learn's FeatureHasher has them.
struct Columns {
    std::uint32_t count;
    bool signs;

    std::uint32_t of(std::uint32_t hash) const {
        const std::uint32_t size = hash >> 31 ? 0u - hash : hash;
        return std::has_single_bit(count) ? size & (count - 1) : size % count;
    }
    bool negative(std::uint32_t hash) const { return signs && hash >> 31; }
};

/// Numbers the columns in the order in which they were met: frequent ones come first, and a model
/// needs room for those alone.
class Places {
  public:
    static constexpr std::int32_t nowhere = -1;

    explicit Places(std::uint32_t columns) : place_(columns, nowhere) {}

    std::size_t size() const { return columns_.size(); }
    std::int32_t find(std::uint32_t column) const { return place_[column]; }
    const std::vector<std::int32_t>& columns() const { return columns_; }

    std::int32_t meet(std::uint32_t column) {
        std::int32_t& place = place_[column];
        if (place == nowhere) {
            place = static_cast<std::int32_t>(columns_.size());
            columns_.push_back(static_cast<std::int32_t>(column));
        }
        return place;
    }

    /// Forgets the columns that were met last.
    void shrink(std::size_t size) {
        for (; columns_.size() > size; columns_.pop_back())
            place_[static_cast<std::size_t>(columns_.back())] = nowhere;
    }

  private:
    std::vector<std::int32_t> place_, columns_;
};

/// Sorts whole numbers below 2^bits: by digits of 11 bits where there are many.
inline void sort_keys(std::vector<std::uint64_t>& keys, std::vector<std::uint64_t>& spare,
                      int bits) {
    constexpr std::size_t few = 96;
    constexpr int digit = 11;
    constexpr std::size_t buckets = std::size_t{1} << digit;
    if (keys.size() < few) return std::sort(keys.begin(), keys.end());
    spare.resize(keys.size());
    std::uint32_t starts[buckets];
    for (int shift = 0; shift < bits; shift += digit) {
        std::fill_n(starts, buckets, 0u);
        const auto at = [&](std::uint64_t key) { return key >> shift & (buckets - 1); };
        for (const std::uint64_t key : keys) ++starts[at(key)];
        std::uint32_t sum = 0;
        for (std::uint32_t& start : starts) sum += std::exchange(start, sum);
        for (const std::uint64_t key : keys) spare[starts[at(key)]++] = key;
        keys.swap(spare);
    }
}

/// One document: its features in rising order, and how often each is there.
struct Counted {
    std::vector<std::int32_t> features;
    std::vector<double> counts;
    std::size_t known = 0;  ///< features that a model has a place for come first
};

}  // namespace aggro::words
