// Python bindings of the feature map and its state.
#include "feature_map.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <tuple>

#include "named_array.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace aggro;

namespace {

using Doubles = Column<double>;
using Integers = Column<std::int64_t>;

nb::dict state_of(FeatureMapCore& self) {
    const FeatureMap map = self.copy();
    const Columns& known = map.columns;
    std::vector<std::int64_t> grown;
    for (const FeatureLayout::Block& block : map.layout(0).blocks)
        grown.push_back(static_cast<std::int64_t>(block.column + block.columns));
    nb::dict state;
    const auto put = [&](const char* name, const auto& values) {
        state[name] = to_numpy(values, {values.size()});
    };
    put("grown", grown);
    put("rows", std::vector<std::int64_t>{static_cast<std::int64_t>(known.rows)});
    put("mean", known.mean);
    put("square", known.square);
    put("missing", known.missing);
    put("sample", *known.sample);
    put("rank_start", known.ranks->start);
    put("rank_values", known.ranks->values);
    put("rank_up_to", known.ranks->up_to);
    return state;
}

template <class T>
std::vector<T> vector_of(const nb::dict& state, const char* name) {
    const auto array = array_of<Column<T>>(state, name);
    return {array.data(), array.data() + array.size()};
}

void require(bool fits, const char* what) {
    if (!fits)
        throw nb::value_error((std::string(what) + " of the feature map do not fit").c_str());
}

/// Read and check the empirical distributions of the columns.
Columns::Ranks ranks_of(const nb::dict& state, std::size_t columns) {
    Columns::Ranks ranks{vector_of<std::int64_t>(state, "rank_start"),
                         vector_of<double>(state, "rank_values"),
                         vector_of<std::int32_t>(state, "rank_up_to")};
    const auto size = static_cast<std::int64_t>(ranks.values.size());
    require(ranks.up_to.size() == ranks.values.size() && !ranks.start.empty() &&
                ranks.start.size() <= columns + 1 && ranks.start.front() == 0 &&
                ranks.start.back() == size &&
                std::is_sorted(ranks.start.begin(), ranks.start.end()),
            "the ranks");
    for (std::size_t j = 0; j + 1 < ranks.start.size(); ++j)
        for (std::int64_t k = ranks.start[j]; k < ranks.start[j + 1]; ++k) {
            const auto at = static_cast<std::size_t>(k);
            const bool first = k == ranks.start[j];
            require(ranks.up_to[at] > (first ? 0 : ranks.up_to[at - 1]) &&
                        (first || ranks.values[at] > ranks.values[at - 1]),
                    "the ranks");
        }
    return ranks;
}

/// Read and check the moments of the columns.
void load_moments(Columns& known, const nb::dict& state, std::size_t count) {
    const auto rows = vector_of<std::int64_t>(state, "rows");
    require(rows.size() == 1 && rows[0] >= 0, "the rows");
    known.rows = static_cast<std::uint64_t>(rows[0]);
    for (auto [name, values] : {std::pair{"mean", &known.mean}, std::pair{"square", &known.square},
                                std::pair{"missing", &known.missing}}) {
        *values = vector_of<double>(state, name);
        require(values->size() == count, "the moments");
    }
    for (std::size_t j = 0; j < count; ++j)
        require(std::isfinite(known.mean[j]) && std::isfinite(known.square[j]) &&
                    known.square[j] >= 0 && known.missing[j] >= 0 &&
                    known.missing[j] <= static_cast<double>(known.rows),
                "the moments");
}

void load_state(FeatureMapCore& self, const nb::dict& state) {
    const auto grown = vector_of<std::int64_t>(state, "grown");
    const auto count = array_of<Doubles>(state, "mean").size();
    require(grown.empty() ? count == 0 : grown.back() == static_cast<std::int64_t>(count),
            "the columns");
    require(std::is_sorted(grown.begin(), grown.end()), "the columns");
    FeatureMap map = self.copy().blank();
    for (const std::int64_t columns : grown) map.grow(static_cast<std::size_t>(columns));
    Columns& known = map.columns;
    load_moments(known, state, count);
    known.sample = std::make_shared<std::vector<double>>(vector_of<double>(state, "sample"));
    require(known.sample->size() == count * Columns::capacity, "the sampled values");
    known.ranks = std::make_shared<Columns::Ranks>(ranks_of(state, count));
    self.become(std::move(map));
}

/// Return the values of rows in another order, as an array that owns them.
template <class T>
AnyArray gathered(std::vector<T> values, std::initializer_list<std::size_t> shape) {
    return nb::cast<AnyArray>(nb::cast(to_numpy(std::move(values), shape)));
}

template <class T>
Rows take_dense(const Matrix& x, const Integers& order) {
    std::vector<T> values;
    values.reserve(order.size() * x.features);
    for (std::size_t i = 0; i < order.size(); ++i) {
        const T* row =
            static_cast<const T*>(x.values) + static_cast<std::size_t>(order(i)) * x.features;
        values.insert(values.end(), row, row + x.features);
    }
    return Rows(gathered(std::move(values), {order.size(), x.features}));
}

template <class T, class Index>
Rows take_sparse(const Matrix& x, const Integers& order) {
    std::vector<T> values;
    std::vector<Index> indices;
    std::vector<std::int64_t> starts{0};
    for (std::size_t i = 0; i < order.size(); ++i) {
        const auto row = static_cast<std::size_t>(order(i));
        const auto from = x.start(row), to = x.start(row + 1);
        values.insert(values.end(), static_cast<const T*>(x.values) + from,
                      static_cast<const T*>(x.values) + to);
        indices.insert(indices.end(), static_cast<const Index*>(x.indices) + from,
                       static_cast<const Index*>(x.indices) + to);
        starts.push_back(static_cast<std::int64_t>(values.size()));
    }
    const std::size_t size = values.size(), count = starts.size();
    return Rows(gathered(std::move(values), {size}), gathered(std::move(indices), {size}),
                gathered(std::move(starts), {count}), x.features);
}

/// Return some rows in a given order: a view if they are contiguous dense rows, else a copy.
Rows take_rows(const Rows& rows, const Integers& order) {
    const Matrix& x = rows.matrix;
    bool neighbours = !x.sparse();
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (order(i) < 0 || static_cast<std::size_t>(order(i)) >= x.rows)
            throw std::out_of_range("order contains the index of a row that does not exist");
        neighbours &= order(i) == order(0) + static_cast<std::int64_t>(i);
    }
    if (neighbours && order.size() > 0) {
        Rows part = rows;
        const std::size_t width = x.doubles ? sizeof(double) : sizeof(float);
        part.matrix.rows = order.size();
        part.matrix.values = static_cast<const char*>(x.values) +
                             static_cast<std::size_t>(order(0)) * x.features * width;
        return part;
    }
    if (!x.sparse()) return x.doubles ? take_dense<double>(x, order) : take_dense<float>(x, order);
    if (x.wide_indices)
        return x.doubles ? take_sparse<double, std::int64_t>(x, order)
                         : take_sparse<float, std::int64_t>(x, order);
    return x.doubles ? take_sparse<double, std::int32_t>(x, order)
                     : take_sparse<float, std::int32_t>(x, order);
}

}  // namespace

void bind_feature_map(nb::module_& m) {
    using Layouts = std::vector<std::size_t>;
    using Pickled = std::tuple<std::vector<FeatureMap::Sizes>, std::uint64_t, nb::dict>;
    m.def("take_rows", &take_rows, "rows"_a, "order"_a,
          "Return some rows in a given order: a view if they are contiguous dense rows, else a "
          "copy.");
    nb::class_<FeatureMapCore>(m, "FeatureMap", "Non-linear features of numeric columns.")
        .def(
            "__init__",
            [](FeatureMapCore* self, std::vector<FeatureMap::Sizes> sizes, std::uint64_t seed) {
                if (sizes.empty()) throw nb::value_error("a feature map needs a layout");
                new (self) FeatureMapCore(FeatureMap(std::move(sizes), seed));
            },
            "sizes"_a, "seed"_a, "Numbers of Fourier features and of grids, for each layout.")
        .def_prop_ro("sizes", [](FeatureMapCore& self) { return self.copy().sizes(); })
        .def_prop_ro("columns", [](FeatureMapCore& self) { return self.copy().columns.count(); })
        .def_prop_ro("rows", [](FeatureMapCore& self) { return self.copy().columns.rows; })
        .def(
            "features",
            [](FeatureMapCore& self, std::size_t layout) {
                return self.copy().layout(layout).features();
            },
            "layout"_a, "Number of features of a layout.")
        .def(
            "map",
            [](FeatureMapCore& self, const Rows& rows, const Layouts& layouts, bool learn,
               const std::optional<Integers>& order, const std::optional<Doubles>& weights,
               bool single, bool missing, bool append) {
                const auto map = [&]<class T>(T) {
                    return self.rows<T>(rows, layouts, learn, missing, append, order, weights);
                };
                return single ? map(0.0f) : map(0.0);
            },
            "rows"_a, "layouts"_a, "learn"_a = false, "order"_a = nb::none(),
            "weights"_a = nb::none(), "single"_a = false, "missing"_a = true, "append"_a = false,
            "Return the features of rows in some layouts, each as a matrix, or as data, indices, "
            "indptr and width of a sparse one. With learn, rows of positive weight update the "
            "statistics first. Without missing, NaN is an error. With append, columns that the map "
            "does not have follow the features, scaled to length one in each row.")
        .def(
            "grow",
            [](FeatureMapCore& self, std::size_t columns) {
                FeatureMap map = self.copy();
                map.grow(columns);
                self.become(std::move(map));
            },
            "columns"_a, "Add columns up to this number; their values were zero so far.")
        .def(
            "copy", [](FeatureMapCore& self) { return new FeatureMapCore(self.copy()); },
            nb::rv_policy::take_ownership, "Return an independent copy, which is cheap.")
        .def(
            "only",
            [](FeatureMapCore& self, std::size_t layout) {
                return new FeatureMapCore(self.copy().only(layout));
            },
            "layout"_a, nb::rv_policy::take_ownership, "Return a copy with one of the layouts.")
        .def("__getstate__",
             [](FeatureMapCore& self) {
                 const FeatureMap map = self.copy();
                 return std::make_tuple(map.sizes(), map.seed(), state_of(self));
             })
        .def("__setstate__",
             [](FeatureMapCore& self, const Pickled& kept) {
                 new (&self) FeatureMapCore(FeatureMap(std::get<0>(kept), std::get<1>(kept)));
                 load_state(self, std::get<2>(kept));
             })
        .def("state", &state_of, "Return the learned statistics as arrays by name.")
        .def("load_state", &load_state, "state"_a,
             "Restore what state() returned; if something does not fit, nothing changes.");
}
