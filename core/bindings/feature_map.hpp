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
    /// statistics with each row of positive weight. Without `missing`, NaN is an error. With
    /// `append`, columns beyond the map follow the features, scaled to length one in each row.
    template <class T>
    nb::list rows(const Rows& rows, const std::vector<std::size_t>& layouts, bool learn,
                  bool missing, bool append, const std::optional<Column<std::int64_t>>& order,
                  const std::optional<Column<double>>& weights) {
        const Selection selection(rows.matrix, order, weights, learn, missing, append);
        std::vector<Mapped<T>> mapped;
        const auto work = [&] {
            FeatureMap next = map_;
            if (learn && !append) next.grow(rows.matrix.features);
            if (!append && rows.matrix.features > next.columns.count())
                throw std::invalid_argument("X has " + std::to_string(rows.matrix.features) +
                                            " columns, but the feature map has learned " +
                                            std::to_string(next.columns.count()) +
                                            "; learn rows that have all of them");
            const std::size_t appended = rows.matrix.features - next.columns.count();
            for (const std::size_t which : layouts)
                mapped.emplace_back(next.layout(which), selection.count, append ? appended : 0);
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
        bool learn, missing, append;

        Selection(const Matrix& x, const std::optional<Column<std::int64_t>>& rows,
                  const std::optional<Column<double>>& each, bool learns, bool has_missing,
                  bool appends)
            : count(rows ? rows->size() : x.rows),
              learn(learns),
              missing(has_missing),
              append(appends) {
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

    /// Columns of a row that are not mapped, and their values.
    struct Appended {
        std::vector<std::size_t> columns;
        std::vector<double> values;

        void scale_to_length_one() {
            double square = 0;
            for (const double value : values) square += value * value;
            if (!(square > 0)) return;
            for (double& value : values) value /= std::sqrt(square);
        }
    };

    /// The features of rows in one layout.
    template <class T>
    struct Mapped {
        std::size_t mapped, features, stored;
        RowMapper mapper;
        std::vector<T> values;
        std::vector<std::int32_t> indices;
        std::vector<std::int64_t> starts{0};
        bool dense;  ///< all features are stored

        Mapped(const FeatureLayout& layout, std::size_t count, std::size_t appended)
            : mapped(layout.features()),
              features(mapped + appended),
              stored(layout.stored()),
              mapper(layout),
              dense(layout.dense() && appended == 0) {
            const double numbers = static_cast<double>(count) * static_cast<double>(stored);
            check_memory(numbers * (sizeof(T) + sizeof(std::int32_t)),
                         "the features of " + std::to_string(count) + " rows",
                         "map fewer at a time");
            values.reserve(count * stored);
            if (!dense) indices.reserve(count * stored);
        }

        void put(const PlacedRow& row, const Appended& more) {
            const std::size_t at = values.size();
            values.resize(at + stored);
            if (!dense) indices.resize(at + stored);
            mapper.map(row, values.data() + at, dense ? nullptr : indices.data() + at);
            for (std::size_t k = 0; k < more.columns.size(); ++k) {
                values.push_back(static_cast<T>(more.values[k]));
                indices.push_back(static_cast<std::int32_t>(mapped + more.columns[k]));
            }
            starts.push_back(static_cast<std::int64_t>(values.size()));
        }

        nb::tuple arrays() && {
            if (dense)
                return nb::make_tuple(to_numpy(std::move(values), {starts.size() - 1, features}));
            const std::size_t size = values.size(), ends = starts.size();
            return nb::make_tuple(to_numpy(std::move(values), {size}),
                                  to_numpy(std::move(indices), {size}),
                                  to_numpy(std::move(starts), {ends}), features);
        }
    };

    template <class Row, class T>
    static void map_all(const Matrix& x, const Selection& selection, FeatureMap& map,
                        std::vector<Mapped<T>>& mapped) {
        constexpr std::size_t piece = 1024;  // rows between checks for signals
        Reader<double, Row> reader(x);
        PlacedRow placed;
        std::vector<double> row;
        Appended more;
        for (std::size_t i = 0; i < selection.count; ++i) {
            if (i % piece == piece - 1 && signalled()) throw Interrupted();
            try {
                fill(reader.row(selection.row(i)), map.columns.count(), selection, row, more);
                if (selection.counts(i)) map.columns.add(row.data());
            } catch (const BadExample& bad) {
                throw BadRow(selection.row(i), bad.what());
            }
            if (mapped.empty()) continue;
            placed.place(map.columns, row.data());
            for (Mapped<T>& each : mapped) each.put(placed, more);
        }
    }

    /// Write all columns of a row; absent ones are zero, and repeated ones add up.
    template <class Row>
    static void fill(const Row& x, std::size_t columns, const Selection& how,
                     std::vector<double>& row, Appended& more) {
        row.assign(columns, 0.0);
        more.columns.clear();
        more.values.clear();
        for (std::size_t k = 0; k < x.size; ++k) {
            const std::size_t column = x.feature(k);
            const bool mapped = !how.append || column < columns, missing = mapped && how.missing;
            if (!std::isfinite(x.values[k]) && !(missing && std::isnan(x.values[k])))
                complain(column, x.values[k], missing);
            if (mapped) {
                row[column] += x.values[k];
            } else {
                more.columns.push_back(column - columns);
                more.values.push_back(x.values[k]);
            }
        }
        more.scale_to_length_one();
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
