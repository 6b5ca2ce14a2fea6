// Hashed features to columns, and columns to positions in order of first appearance.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace aggro::words {

/// The column of a hash among `count`, and its sign, as in scikit-learn's FeatureHasher.
struct Columns {
    std::uint32_t count;
    bool signs;

    std::uint32_t of(std::uint32_t hash) const {
        const std::uint32_t size = hash >> 31 ? 0u - hash : hash;
        return std::has_single_bit(count) ? size & (count - 1) : size % count;
    }
    bool negative(std::uint32_t hash) const { return signs && hash >> 31; }
};

/// Numbers columns in order of first appearance: frequent ones come first, and a model needs memory
/// only for those that occur.
class Places {
  public:
    static constexpr std::int32_t nowhere = -1;

    explicit Places(std::uint32_t columns) : place_(columns, nowhere) {}

    std::size_t size() const { return columns_.size(); }
    std::int32_t find(std::uint32_t column) const { return place_[column]; }
    const std::vector<std::int32_t>& columns() const { return columns_; }

    std::int32_t place(std::uint32_t column) {
        std::int32_t& place = place_[column];
        if (place == nowhere) {
            place = static_cast<std::int32_t>(columns_.size());
            columns_.push_back(static_cast<std::int32_t>(column));
        }
        return place;
    }

    /// Remove the columns that appeared last.
    void shrink(std::size_t size) {
        for (; columns_.size() > size; columns_.pop_back())
            place_[static_cast<std::size_t>(columns_.back())] = nowhere;
    }

  private:
    std::vector<std::int32_t> place_, columns_;
};

/// Sort numbers below 2^bits by all bits except the last; many numbers are sorted by radix.
inline void sort_keys(std::vector<std::uint64_t>& keys, std::vector<std::uint64_t>& spare,
                      int bits) {
    constexpr std::size_t few = 48;
    if (keys.size() < few) return std::sort(keys.begin(), keys.end());
    const int passes = (bits - 1 + 7) / 8, digit = (bits - 1 + passes - 1) / passes;
    const std::uint64_t mask = (std::uint64_t{1} << digit) - 1;
    spare.resize(keys.size());
    for (int pass = 0, shift = 1; pass < passes; ++pass, shift += digit) {
        std::uint32_t starts[256] = {};
        for (const std::uint64_t key : keys) ++starts[key >> shift & mask];
        std::uint32_t sum = 0;
        for (std::size_t i = 0; i <= mask; ++i) sum += std::exchange(starts[i], sum);
        for (const std::uint64_t key : keys) spare[starts[key >> shift & mask]++] = key;
        keys.swap(spare);
    }
}

/// One document: its features in ascending order, and their counts.
struct Counted {
    std::vector<std::int32_t> features;
    std::vector<double> counts;
    std::size_t known = 0;  ///< number of known features, which are first
};

}  // namespace aggro::words
