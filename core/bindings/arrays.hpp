// Conversion of NumPy arrays.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <tuple>
#include <vector>

#include "linear/record.hpp"
#include "named_array.hpp"
#include "rows/examples.hpp"

namespace aggro {

namespace nb = nanobind;
using AnyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
template <class T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline bool is_double(const AnyArray& a) {
    if (a.dtype() == nb::dtype<double>()) return true;
    if (a.dtype() == nb::dtype<float>()) return false;
    throw nb::type_error("expected an array of float32 or float64");
}

inline bool is_wide(const AnyArray& a) {
    if (a.dtype() == nb::dtype<std::int64_t>()) return true;
    if (a.dtype() == nb::dtype<std::int32_t>()) return false;
    throw nb::type_error("expected an array of int32 or int64");
}

/// Mistakes, recent mistakes, recent loss and recent examples of each model, in examples of equal
/// weight.
using Records = std::vector<std::tuple<double, double, double, double>>;
inline Records list_of(const Record& r) {
    Records out;
    const double unit = r.unit_of_weight();
    for (std::size_t i = 0; i < r.mistakes.size(); ++i) {
        const std::size_t predicts = i * r.predictors + best_predictor(r, i);
        out.emplace_back(r.mistakes[i], r.recent_mistakes[predicts] / unit,
                         r.recent_loss[predicts] / unit, r.recent_weight / unit);
    }
    return out;
}

/// Return a view of a dense matrix (shape n x d).
inline Matrix dense_matrix(const AnyArray& x) {
    if (x.ndim() != 2) throw nb::value_error("expected a matrix with two dimensions");
    Matrix m;
    m.rows = x.shape(0);
    m.features = x.shape(1);
    m.values = x.data();
    m.doubles = is_double(x);
    return m;
}

/// Return a view of a CSR matrix. The pointers are checked here, the indices row by row.
inline Matrix sparse_matrix(const AnyArray& data, const AnyArray& indices, const AnyArray& starts,
                            std::size_t features) {
    if (starts.ndim() != 1 || starts.size() < 1)
        throw nb::value_error("indptr must have one entry more than there are rows");
    Matrix m;
    m.rows = starts.size() - 1;
    m.features = features;
    m.values = data.data();
    m.doubles = is_double(data);
    static const std::int64_t nowhere = 0;  // address for a matrix without entries
    m.indices = indices.size() > 0 ? indices.data() : &nowhere;
    m.wide_indices = is_wide(indices);
    m.starts = starts.data();
    m.wide_starts = is_wide(starts);
    bool rising = m.start(0) == 0;
    for (std::size_t i = 0; i < m.rows; ++i) rising &= m.start(i) <= m.start(i + 1);
    const auto stored = static_cast<std::size_t>(std::max<std::int64_t>(m.start(m.rows), 0));
    if (!rising || stored > data.size() || stored > indices.size())
        throw nb::value_error(
            "indptr must begin with 0, never fall, and end within data and indices");
    return m;
}

/// The rows of a NumPy or CSR matrix, with references that keep the arrays alive.
struct Rows {
    Matrix matrix;
    std::vector<AnyArray> kept;

    explicit Rows(const AnyArray& x) : matrix(dense_matrix(x)), kept{x} {}
    Rows(const AnyArray& data, const AnyArray& indices, const AnyArray& starts,
         std::size_t features)
        : matrix(sparse_matrix(data, indices, starts, features)), kept{data, indices, starts} {}
};

/// Return an array that owns the vector.
template <class T>
inline nb::ndarray<nb::numpy, T> to_numpy(std::vector<T> values,
                                          std::initializer_list<std::size_t> shape) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T>(kept->data(), shape, owner);
}

}  // namespace aggro
