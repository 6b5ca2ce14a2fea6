// Random binning: cells of random grids over a few ranked columns.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "features/fourier.hpp"

namespace aggro {

/// Grids over a few columns with cells of random width (Rahimi and Recht, 2007). A row is in one
/// cell of each grid; cells are hashed to positions of their grid.
struct Grids {
    static constexpr std::size_t places = 64;             ///< of each grid
    static constexpr std::size_t narrow = 2, widest = 4;  ///< number of columns of a grid
    static constexpr double width = 0.5;                  ///< mean width of a cell, in ranks
    static constexpr double narrowest = 1e-3;
    static constexpr float missing = -1000;  ///< the rank of a missing value, far from all others

    /// One column of each grid; the cell is floor(shift + rank * per_rank). Unused columns of a
    /// grid with fewer than `widest` columns always have cell zero.
    struct Side {
        std::vector<std::uint32_t> column;
        std::vector<float> shift, per_rank;

        void push_back(std::size_t j, double from, double steepness) {
            column.push_back(static_cast<std::uint32_t>(j));
            shift.push_back(static_cast<float>(from));
            per_rank.push_back(static_cast<float>(steepness));
        }
    };

    std::uint64_t seed = 0;
    std::array<Side, widest> sides;

    std::size_t size() const { return sides[0].column.size(); }

    /// Add grids over these columns; each grid uses at least one column from `fresh` on.
    void add(std::size_t grids, std::size_t fresh, std::size_t columns) {
        for (std::size_t g = size(), end = g + grids; g < end; ++g) {
            std::uint64_t state = mixed(seed, g);
            const std::size_t many = std::min(columns, narrow + below(state, widest - narrow + 1));
            std::vector<std::size_t> chosen{fresh + below(state, columns - fresh)};
            while (chosen.size() < many) {
                const std::size_t column = below(state, columns);
                if (std::find(chosen.begin(), chosen.end(), column) == chosen.end())
                    chosen.push_back(column);
            }
            for (std::size_t s = 0; s < widest; ++s)
                s < many ? draw(state, sides[s], chosen[s]) : sides[s].push_back(0, 0, 0);
        }
    }

    /// Fill `place` with the position of a row in each grid.
    void map(const std::vector<float>& ranks, std::vector<std::uint32_t>& place) const {
        place.assign(size(), 0);
        for (const Side& side : sides)
            for (std::size_t g = 0; g < place.size(); ++g) {
                const float at = side.shift[g] + ranks[side.column[g]] * side.per_rank[g];
                const auto cell = static_cast<std::int32_t>(std::floor(at));
                const std::uint32_t hash = (place[g] + static_cast<std::uint32_t>(cell) + 1) * odd;
                place[g] = hash ^ (hash >> 15);
            }
        for (std::uint32_t& hash : place) hash = hash * odd >> 26;
    }

  private:
    static constexpr std::uint32_t odd = 0x9E3779B1u;

    static std::size_t below(std::uint64_t& state, std::size_t count) {
        return random_bits(state) % count;
    }

    /// Add a column to a grid; widths have a gamma distribution of shape 2.
    static void draw(std::uint64_t& state, Side& side, std::size_t column) {
        const double gamma = -std::log(uniform(state)) - std::log(uniform(state));
        const double cell = width / 2 * gamma + narrowest;
        side.push_back(column, uniform(state), 1 / cell);
    }
};

}  // namespace aggro
