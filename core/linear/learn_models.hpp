// Learning a batch of rows in one model or in several, block by block.
#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "linear/ensemble.hpp"
#include "linear/record_margins.hpp"
#include "linear/rollback.hpp"

namespace aggro {

/// Return the mean number of multiply-adds for learning a row.
template <class T>
inline std::size_t learning_work(const Model<T>& m, const TrainingBatch& training) {
    const std::size_t features = m.shape.features + 8;
    std::size_t work = row_work(training.x, m.columns) * training.batch_size;
    if (m.shape.scale == Scale::standard) work += features * m.columns;
    if (m.shape.metric == Metric::full) work += features * features * m.groups.size();
    if (m.shape.queue > 1) work += features * m.shape.queue * m.shape.outputs;
    if (m.shape.reservoir > 0) work += features * m.shape.reservoir * m.shape.outputs;
    return work;
}

/// Return the number of rows, from `done` on, in a block of about `rows`. A block ends with a
/// complete mini-batch, in which rows of weight zero do not count.
inline std::size_t block_size(const TrainingBatch& training, std::size_t done, std::size_t rows) {
    const std::size_t left = training.count - done;
    if (rows >= left) return left;
    if (training.batch_size == 1) return rows;
    std::size_t size = 0, waiting = 0;
    while (size < left && (size < rows || waiting > 0)) {
        const bool counts = training.weight(training.row(done + size++)) > 0;
        if (counts) waiting = (waiting + 1) % training.batch_size;
    }
    return size;
}

/// How threads share the work: `count` of them share the models, in blocks of `rows` rows.
struct Crews {
    std::size_t count, rows;

    /// Choose blocks that take some hundredths of a second.
    template <class T>
    static Crews of(const std::vector<Model<T>*>& models, const TrainingBatch& training) {
        constexpr std::size_t enough = std::size_t{1} << 25;
        std::size_t work = 1;
        for (const Model<T>* m : models) work += learning_work(*m, training);
        const std::size_t busy = std::clamp<std::size_t>(training.count * work >> 16, 1,
                                                         training.threads),
                          crews = std::min(busy, std::max<std::size_t>(models.size(), 1));
        return {crews, std::max<std::size_t>(enough / work * crews, 1)};
    }
};

/// Learn the rows in all models; each model is independent of the others. Threads share the models,
/// and remaining threads share the outputs of each. After each block all models have learned the
/// same rows, and the caller may interrupt: the models then keep what they have learned. If a row
/// is rejected, a model overflows or memory runs out, every model is restored unless `undo` is
/// false; of several errors that of the first row is thrown. Calls for parts of a longer batch,
/// which is checked at its end, set neither `undo` nor `check`.
template <class T>
inline void learn_together(const std::vector<Model<T>*>& models, const TrainingBatch& training) {
    std::optional<Transaction<T>> before;
    if (training.undo || training.check) before.emplace(models, training);
    try {
        const Crews crews = Crews::of(models, training);
        EnsembleScores<T> ensemble(models, training);
        TrainingBatch block = training;
        block.threads = training.threads / crews.count;
        for (std::size_t done = 0; done < training.count; done += block.count) {
            if (done > 0 && training.interrupted && training.interrupted()) throw Interrupted();
            block.first = training.first + done;
            block.count = block_size(training, done, crews.rows);
            ensemble.begin(block);
            together(models.size(), crews.count, [&](std::size_t i, std::size_t& at) {
                if (ensemble.records(i))
                    return learn_recording_margins(*models[i], ensemble.part(block, i), at);
                learn_all(*models[i], block, at);
            });
            ensemble.end(block);
        }
        if (training.check) before->check();
    } catch (const Interrupted&) {
        throw;
    } catch (...) {
        if (training.undo) before->restore();
        throw;
    }
}

}  // namespace aggro
