// Learning while the margins are written down that each row was given before it was learned.
#pragma once
#include <memory>

#include "linear/passes.hpp"

namespace aggro {

/// Scores of the rows of a matrix by the predictor; where several models race, by the one that
/// leads, or its part of their joint answer. Its working memory lives from row to row.
template <class T>
struct Scorer {
    virtual ~Scorer() = default;
    virtual void operator()(std::size_t row, double* out) = 0;
};

template <class T, class Row, class Loop>
class ScorerOf final : public Scorer<T> {
  public:
    ScorerOf(Model<T>& model, const Matrix& x)
        : m(model), scratch(m), reader(x), scaled(m.sizes, m.shape.features), loop(m, scratch) {}

    void operator()(std::size_t row, double* out) override {
        if (m.said)
            return naming_the_row(row, [&] { *out = loop.joint(scaled.look(reader.row(row))); });
        naming_the_row(row, [&] { loop.score(scaled.look(reader.row(row))); });
        const std::size_t each = m.shape.outputs / m.shape.models;
        const std::size_t chosen = m.shape.models > 1 ? best_record(m.record) : 0;
        std::copy_n(scratch.scores.data() + chosen * each, each, out);
    }

  private:
    Model<T>& m;
    Scratch<T> scratch;
    Reader<T, Row> reader;
    Scaled<T, Row> scaled;
    Loop loop;
};

template <class T>
inline std::unique_ptr<Scorer<T>> scorer_of(Model<T>& m, const Matrix& x) {
    std::unique_ptr<Scorer<T>> scorer;
    Scratch<T> scratch(m);
    with_row_type<T>(x, [&](auto kind) {
        using Row = decltype(kind);
        with_loops<Learn, T, Row>(m, scratch, [&](auto loop) {
            scorer = std::make_unique<ScorerOf<T, Row, decltype(loop)>>(m, x);
        });
    });
    return scorer;
}

/// Learns row by row, or batch by batch. `margins` has two parts for each place in the order: the
/// scores of its row, and those of the typical row at the same moment. All rows must have a weight.
template <class T>
inline void learn_watched(Model<T>& m, const TrainingBatch& lesson, std::size_t& at) {
    const std::size_t each = m.shape.outputs / m.shape.models;
    const auto rows = scorer_of(m, lesson.x), typical = scorer_of(m, *lesson.typical);
    std::vector<double> centre(each);
    const auto look = [&](std::size_t place, std::size_t count) {
        (*typical)(0, centre.data());
        for (std::size_t i = place; i < place + count; ++i) {
            at = lesson.first + i;
            double* out = lesson.margins + at * 2 * each;
            (*rows)(lesson.row(i), out);
            std::copy(centre.begin(), centre.end(), out + each);
        }
    };
    with_row_type<T>(lesson.x, [&](auto kind) {
        using Row = decltype(kind);
        if (lesson.batch_size > 1) return learn_batches<T, Row>(m, lesson, at, look);
        Scratch<T> scratch(m);
        learn_rows<T, Row>(m, m.sizes, scratch, lesson, at, look);
    });
}

}  // namespace aggro
