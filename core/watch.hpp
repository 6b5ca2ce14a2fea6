// Learning while the margins are written down that each row was given before it was learned.
#pragma once
#include "passes.hpp"

namespace aggro {

/// Scores of one row by the predictor; where several models race, by the one that leads.
template <class T>
inline void score_one(Model<T>& m, const Matrix& x, std::size_t row, double* out) {
    with_row_type<T>(x, [&](auto kind) {
        using Row = decltype(kind);
        Scratch<T> scratch(m);
        Reader<T, Row> reader(x);
        Scaled<T, Row> scaled(m.sizes, m.shape.features);
        with_loops<Learn, T, Row>(m, scratch, [&](auto learn) {
            naming_the_row(row, [&] { learn.score(scaled.look(reader.row(row))); });
        });
        const std::size_t each = m.shape.outputs / m.shape.models;
        const std::size_t chosen = m.shape.models > 1 ? best_record(m.record) : 0;
        std::copy_n(scratch.scores.data() + chosen * each, each, out);
    });
}

/// Learns row by row, or batch by batch. `margins` has two parts for each place in the order: the
/// scores of its row, and those of the typical row at the same moment. All rows must have a weight.
template <class T>
inline void learn_watched(Model<T>& m, const Lesson& lesson, std::size_t& at) {
    const std::size_t each = m.shape.outputs / m.shape.models;
    std::vector<double> centre(each);
    Lesson part = lesson;
    for (std::size_t done = 0; done < lesson.count; done += part.count) {
        at = part.first = lesson.first + done;
        part.count = std::min(lesson.batch_size, lesson.count - done);
        score_one(m, *lesson.typical, 0, centre.data());
        for (std::size_t i = 0; i < part.count; ++i) {
            at = part.first + i;
            double* out = lesson.margins + at * 2 * each;
            score_one(m, lesson.x, part.row(i), out);
            std::copy(centre.begin(), centre.end(), out + each);
        }
        learn_all(m, part, at);
    }
}

}  // namespace aggro
