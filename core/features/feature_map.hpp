// Non-linear features of numeric columns, computed row by row.
#pragma once
#include <cstdint>
#include <memory>
#include <numbers>
#include <utility>
#include <vector>

#include "features/columns.hpp"
#include "features/fourier.hpp"
#include "features/grids.hpp"

namespace aggro {

/// Layout of the features: Fourier features, the columns of the first row, their grids, columns
/// added later, their grids. A feature never changes its position.
struct FeatureLayout {
    struct Block {
        std::size_t column, columns;  ///< of the table
        std::size_t grid, grids;
        std::size_t first;  ///< its first feature

        std::size_t end() const { return first + columns + grids * Grids::places; }
    };

    std::size_t grids_wanted = 0;  ///< over the columns of the first row
    Fourier fourier;
    Grids grids;
    std::vector<Block> blocks;
    float gain = 1;  ///< factor of standardised columns

    std::size_t columns() const {
        return blocks.empty() ? 0 : blocks.back().column + blocks.back().columns;
    }
    std::size_t features() const { return blocks.empty() ? fourier.size : blocks.back().end(); }
    /// Return the number of stored features of a row.
    std::size_t stored() const { return fourier.size + columns() + grids.size(); }
    bool dense() const { return grids_wanted == 0; }

    void grow(std::size_t count) {
        const std::size_t known = columns();
        if (count <= known) return;
        if (known == 0) {
            fourier.begin(count);
            gain = 1 / std::sqrt(static_cast<float>(count));
        }
        fourier.grow(count);
        const std::size_t left = 2 * grids_wanted - grids.size();
        const std::size_t share = (grids_wanted * (count - known) + count - 1) / count;
        const Block block{known, count - known, grids.size(), std::min(left, share), features()};
        grids.add(block.grids, known, count);
        blocks.push_back(block);
    }
};

/// Maps rows of columns to features of one or several layouts, which share the learned statistics
/// of the columns. Copies are cheap.
class FeatureMap {
  public:
    /// Number of Fourier features, and of grids over the columns of the first row; 0 for none.
    using Sizes = std::pair<std::size_t, std::size_t>;

    Columns columns;

    FeatureMap(std::vector<Sizes> sizes, std::uint64_t seed)
        : sizes_(std::move(sizes)), seed_(seed) {
        columns.seed = mixed(seed, 3);
        for (auto& [fourier, grids] : sizes_) {
            fourier += fourier % 2;  // half of them use ranks
            auto empty = std::make_shared<FeatureLayout>();
            empty->fourier.size = fourier;
            empty->fourier.seed = mixed(seed, 1);
            empty->grids_wanted = grids;
            empty->grids.seed = mixed(seed, 2);
            layouts_.push_back(std::move(empty));
        }
    }

    const std::vector<Sizes>& sizes() const { return sizes_; }
    std::uint64_t seed() const { return seed_; }
    const FeatureLayout& layout(std::size_t which) const { return *layouts_.at(which); }

    /// Return an untrained map with the same options.
    FeatureMap blank() const { return {sizes_, seed_}; }

    /// Return a copy with one of the layouts.
    FeatureMap only(std::size_t which) const {
        FeatureMap map({sizes_.at(which)}, seed_);
        map.columns = columns;
        map.layouts_ = {layouts_[which]};
        return map;
    }

    /// Add columns up to this number; features keep their positions.
    void grow(std::size_t count) {
        if (count <= columns.count()) return;
        auto layouts = layouts_;
        for (auto& layout : layouts) {
            auto wider = std::make_shared<FeatureLayout>(*layout);
            wider->grow(count);
            layout = std::move(wider);
        }
        columns.grow(count);
        layouts_ = std::move(layouts);
    }

  private:
    std::vector<Sizes> sizes_;
    std::uint64_t seed_;
    std::vector<std::shared_ptr<const FeatureLayout>> layouts_;
};

/// A row, standardised and ranked.
struct PlacedRow {
    std::vector<float> standardised, ranks, centred_ranks;

    void place(const Columns& known, const double* row) {
        constexpr float per_deviation = 2 * std::numbers::sqrt3_v<float>;  // of uniform ranks
        for (auto* values : {&standardised, &ranks, &centred_ranks}) values->resize(known.count());
        for (std::size_t j = 0; j < known.count(); ++j) {
            const bool missing = row[j] != row[j];
            standardised[j] = missing ? 0 : static_cast<float>(known.standardised(j, row[j]));
            ranks[j] = missing ? Grids::missing : static_cast<float>(known.rank(j, row[j]));
            centred_ranks[j] = missing ? 0 : (ranks[j] - 0.5f) * per_deviation;
        }
    }
};

/// Writes the features of rows, one by one.
class RowMapper {
  public:
    explicit RowMapper(const FeatureLayout& layout) : layout_(layout) {}

    /// Write `stored()` values, and the positions of the features unless all are dense.
    template <class T>
    void map(const PlacedRow& row, T* values, std::int32_t* indices) {
        std::size_t at = layout_.fourier.size;
        layout_.fourier.map(row.standardised, row.centred_ranks, phases_, values);
        for (std::size_t k = 0; indices && k < at; ++k) indices[k] = static_cast<std::int32_t>(k);
        layout_.grids.map(row.ranks, cells_);
        for (const FeatureLayout::Block& block : layout_.blocks) {
            const float* columns = row.standardised.data() + block.column;
            for (std::size_t j = 0; j < block.columns; ++j, ++at) {
                values[at] = static_cast<T>(layout_.gain * columns[j]);
                if (indices) indices[at] = static_cast<std::int32_t>(block.first + j);
            }
            if (block.grids > 0) write_cells(block, values + at, indices + at);
            at += block.grids;
        }
    }

  private:
    template <class T>
    void write_cells(const FeatureLayout::Block& block, T* values, std::int32_t* indices) const {
        const float height = 1 / std::sqrt(static_cast<float>(layout_.grids_wanted));
        std::size_t feature = block.first + block.columns;
        for (std::size_t g = 0; g < block.grids; ++g, feature += Grids::places) {
            values[g] = static_cast<T>(height);
            indices[g] = static_cast<std::int32_t>(feature + cells_[block.grid + g]);
        }
    }

    const FeatureLayout& layout_;
    std::vector<float> phases_;  ///< of the current row
    std::vector<std::uint32_t> cells_;
};

}  // namespace aggro
