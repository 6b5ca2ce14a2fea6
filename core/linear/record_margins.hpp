// Records each row's margin before learning the row.
#pragma once
#include <memory>

#include "linear/passes.hpp"

namespace aggro {

/// Scores rows of a matrix with the predictor: of several models the best one, or the model's part
/// of an ensemble prediction. Its working memory is reused from row to row.
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
        if (m.ensemble_out)
            return with_row_context(row,
                                    [&] { *out = loop.ensemble(scaled.apply(reader.row(row))); });
        with_row_context(row, [&] { loop.score(scaled.apply(reader.row(row))); });
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

/// Learn row by row, or batch by batch. For each position in the order, `margins` receives the
/// scores of the row and of the reference row. All weights must be positive.
template <class T>
inline void learn_recording_margins(Model<T>& m, const TrainingBatch& training, std::size_t& at) {
    const std::size_t each = m.shape.outputs / m.shape.models;
    const auto rows = scorer_of(m, training.x), reference = scorer_of(m, *training.reference);
    std::vector<double> centre(each);
    const auto record = [&](std::size_t place, std::size_t count) {
        (*reference)(0, centre.data());
        for (std::size_t i = place; i < place + count; ++i) {
            at = training.first + i;
            double* out = training.margins + at * 2 * each;
            (*rows)(training.row(i), out);
            std::copy(centre.begin(), centre.end(), out + each);
        }
    };
    with_row_type<T>(training.x, [&](auto kind) {
        using Row = decltype(kind);
        if (training.batch_size > 1) return learn_batches<T, Row>(m, training, at, record);
        Scratch<T> scratch(m);
        learn_rows<T, Row>(m, m.sizes, scratch, training, at, record);
    });
}

}  // namespace aggro
