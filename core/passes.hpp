// Passes over many rows: learning them in order, scoring them.
#pragma once
#include <functional>
#include <optional>

#include "learn.hpp"

namespace aggro {

/// Raised when the caller asked to stop; the model is whole, after the last finished example.
struct Interrupted : std::exception {};

/// A row that was refused, for the message.
struct BadRow : std::runtime_error {
    std::size_t row;
    BadRow(std::size_t i, const std::string& what) : std::runtime_error(what), row(i) {}
};

/// What to learn from, and in which order.
struct Lesson {
    Matrix x;
    const std::int64_t* labels = nullptr;    ///< one class per row, or
    const double* values = nullptr;          ///< `columns` numbers per row
    std::size_t columns = 0;
    const double* weights = nullptr;         ///< null: all one
    const std::int64_t* order = nullptr;     ///< null: as given
    std::size_t count = 0;                   ///< how many rows to learn
    std::function<bool()> interrupted;

    std::size_t row(std::size_t i) const { return order ? static_cast<std::size_t>(order[i]) : i; }
    double weight(std::size_t row) const { return weights ? weights[row] : 1.0; }
    Target target(std::size_t row) const {
        return {labels ? labels[row] : -1, values ? values + row * columns : nullptr};
    }
};

/// Calls `use` with the loops that fit the model: one output or lanes, Euclidean or diagonal.
template <class T, class Row, class Use>
inline void with_learn_type(Model<T>& m, Scratch<T>& scratch, Use&& use) {
    const bool single = m.lanes == 1;
    if (single && !m.diagonal()) use(Learn<T, Row, true, false>(m, scratch));
    else if (single) use(Learn<T, Row, true, true>(m, scratch));
    else if (!m.diagonal()) use(Learn<T, Row, false, false>(m, scratch));
    else use(Learn<T, Row, false, true>(m, scratch));
}

/// Learns the rows of a lesson one after another.
template <class T>
inline void learn_all(Model<T>& m, const Lesson& lesson) {
    constexpr std::size_t breath = std::size_t{1} << 22;  // multiply-adds between two looks at the clock
    Scratch<T> scratch(m);
    with_row_type<T>(lesson.x, [&](auto kind) {
        using Row = decltype(kind);
        Reader<T, Row> reader(lesson.x);
        with_learn_type<T, Row>(m, scratch, [&](auto learn) {
            std::size_t work = 0;
            for (std::size_t i = 0; i < lesson.count; ++i) {
                const std::size_t r = lesson.row(i);
                try {
                    const Row x = reader.row(r);
                    learn(x, lesson.target(r), lesson.weight(r));
                    work += (x.size + 8) * m.lanes;
                } catch (const BadExample& bad) {
                    throw BadRow(r, bad.what());
                }
                if (work < breath) continue;
                work = 0;
                if (lesson.interrupted && lesson.interrupted()) throw Interrupted();
            }
        });
    });
}

/// Scores of the model's predictor, row-major: out[i * outputs + k].
template <class T>
inline void score_all(Model<T>& m, const Matrix& x, T* out) {
    Scratch<T> scratch(m);
    with_row_type<T>(x, [&](auto kind) {
        using Row = decltype(kind);
        Reader<T, Row> reader(x);
        with_learn_type<T, Row>(m, scratch, [&](auto learn) {
            for (std::size_t i = 0; i < x.rows; ++i) {
                try {
                    learn.score(reader.row(i));
                } catch (const BadExample& bad) {
                    throw BadRow(i, bad.what());
                }
                for (std::size_t k = 0; k < m.shape.outputs; ++k)
                    out[i * m.shape.outputs + k] = static_cast<T>(scratch.scores[k]);
            }
        });
    });
}

/// True if every stored value is finite and far from overflow: learning them cannot fail half-way.
inline bool harmless(const Matrix& x) {
    const auto check = [&](const auto* values, auto limit) {
        bool fine = true;
        for (std::size_t k = 0, n = x.stored(); k < n; ++k) fine &= std::abs(values[k]) < limit;
        return fine;
    };
    return x.doubles ? check(static_cast<const double*>(x.values), 1e75)
                     : check(static_cast<const float*>(x.values), 1e15f);
}

}  // namespace aggro
