// Python's feature map: locked, with all-or-nothing updates.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "features/feature_map.hpp"
#include "guard.hpp"

namespace aggro {

/// A feature map, which maps and learns blocks of rows.
class FeatureMapCore {
  public:
    explicit FeatureMapCore(FeatureMap map) : map_(std::move(map)) {}

    FeatureMap copy() {
        return guard_.peek([&] { return map_; });
    }
    void become(FeatureMap map) {
        guard_.write([&] { map_ = std::move(map); });
    }

    /// Map these rows in this order to some of the layouts; with `learn`, first update the
    /// statistics with each row of positive weight. Without `missing`, NaN is an error.
    template <class T>
    nb::list rows(const Rows& rows, const std::vector<std::size_t>& layouts, bool learn,
                  bool missing, const std::optional<Column<std::int64_t>>& order,
                  const std::optional<Column<double>>& weights) {
        const Selection selection(rows.matrix, order, weights, learn, missing);
        std::vector<Mapped<T>> mapped;
        const auto work = [&] {
            FeatureMap next = map_;
            if (learn) next.grow(rows.matrix.features);
            if (rows.matrix.features > next.columns.count())
                throw std::invalid_argument("X has " + std::to_string(rows.matrix.features) +
                                            " columns, but the feature map has learned " +
                                            std::to_string(next.columns.count()) +
                                            "; learn rows that have all of them");
            for (const std::size_t which : layouts)
                mapped.emplace_back(next.layout(which), selection.count);
            with_row_type<double>(rows.matrix, [&](auto kind) {
                map_all<decltype(kind)>(rows.matrix, selection, next, mapped);
            });
            if (learn) map_ = std::move(next);
        };
        in_python_words([&] { learn ? guard_.write(work) : guard_.read(work); });
        nb::list arrays;
        for (Mapped<T>& each : mapped) arrays.append(std::move(each).arrays());
        return arrays;
    }

  private:
    /// The rows to map, and which of them to learn.
    struct Selection {
        std::size_t count;
        const std::int64_t* order = nullptr;
        const double* weights = nullptr;
        bool learn, missing;

        Selection(const Matrix& x, const std::optional<Column<std::int64_t>>& rows,
                  const std::optional<Column<double>>& each, bool learns, bool has_missing)
            : count(rows ? rows->size() : x.rows), learn(learns), missing(has_missing) {
            if (each && each->size() != x.rows)
                throw nb::value_error("weights need one entry for each row");
            if (each) weights = each->data();
            if (!rows) return;
            order = rows->data();
            for (std::size_t i = 0; i < count; ++i)
                if (order[i] < 0 || static_cast<std::size_t>(order[i]) >= x.rows)
                    throw std::out_of_range(
                        "order contains the index of a row that does not exist");
        }

        std::size_t row(std::size_t i) const {
            return order ? static_cast<std::size_t>(order[i]) : i;
        }
        bool counts(std::size_t i) const { return learn && (!weights || weights[row(i)] > 0); }
    };

    /// The features of rows in one layout.
    template <class T>
    struct Mapped {
        std::size_t rows, features, stored;
        RowMapper mapper;
        std::vector<T> values;
        std::vector<std::int32_t> indices;
        bool dense;  ///< all features are stored

        Mapped(const FeatureLayout& layout, std::size_t count)
            : rows(count),
              features(layout.features()),
              stored(layout.stored()),
              mapper(layout),
              dense(layout.dense()) {
            const double numbers = static_cast<double>(count) * static_cast<double>(stored);
            check_memory(numbers * (sizeof(T) + sizeof(std::int32_t)),
                         "the features of " + std::to_string(count) + " rows",
                         "map fewer at a time");
            values.resize(count * stored);
            if (!dense) indices.resize(count * stored);
        }

        void put(std::size_t i, const PlacedRow& row) {
            mapper.map(row, values.data() + i * stored,
                       dense ? nullptr : indices.data() + i * stored);
        }

        nb::tuple arrays() && {
            if (dense) return nb::make_tuple(to_numpy(std::move(values), {rows, features}));
            std::vector<std::int64_t> starts(rows + 1);
            for (std::size_t i = 0; i <= rows; ++i)
                starts[i] = static_cast<std::int64_t>(i * stored);
            const std::size_t size = values.size();
            return nb::make_tuple(to_numpy(std::move(values), {size}),
                                  to_numpy(std::move(indices), {size}),
                                  to_numpy(std::move(starts), {rows + 1}), features);
        }
    };

    template <class Row, class T>
    static void map_all(const Matrix& x, const Selection& selection, FeatureMap& map,
                        std::vector<Mapped<T>>& mapped) {
        constexpr std::size_t piece = 1024;  // rows between checks for signals
        Reader<double, Row> reader(x);
        PlacedRow placed;
        std::vector<double> row;
        for (std::size_t i = 0; i < selection.count; ++i) {
            if (i % piece == piece - 1 && signalled()) throw Interrupted();
            try {
                fill(reader.row(selection.row(i)), map.columns.count(), selection.missing, row);
                if (selection.counts(i)) map.columns.add(row.data());
            } catch (const BadExample& bad) {
                throw BadRow(selection.row(i), bad.what());
            }
            if (mapped.empty()) continue;
            placed.place(map.columns, row.data());
            for (Mapped<T>& each : mapped) each.put(i, placed);
        }
    }

    /// Write all columns of a row; absent ones are zero, and repeated ones add up.
    template <class Row>
    static void fill(const Row& x, std::size_t columns, bool missing, std::vector<double>& row) {
        row.assign(columns, 0.0);
        for (std::size_t k = 0; k < x.size; ++k) {
            if (!std::isfinite(x.values[k]) && !(missing && std::isnan(x.values[k])))
                complain(x.feature(k), x.values[k], missing);
            row[x.feature(k)] += x.values[k];
        }
    }

    [[noreturn]] static void complain(std::size_t feature, double value, bool missing) {
        throw BadExample("feature " + std::to_string(feature) + " is " +
                         (std::isnan(value) ? "NaN" : "infinite (inf)") +
                         (missing ? "; give a finite number, or NaN if it is missing" : ""));
    }

    Guard guard_;
    FeatureMap map_;
};

}  // namespace aggro
