// One lesson for one model or for several, block by block.
#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "linear/ensemble.hpp"
#include "linear/record_margins.hpp"
#include "linear/rollback.hpp"

namespace aggro {

/// Multiply-adds for a row of this lesson in a model, on average, when it is learned from.
template <class T>
inline std::size_t learning_work(const Model<T>& m, const TrainingBatch& lesson) {
    const std::size_t features = m.shape.features + 8;
    std::size_t work = row_work(lesson.x, m.lanes) * lesson.batch_size;
    if (m.shape.scale == Scale::standard) work += features * m.lanes;
    if (m.shape.metric == Metric::full) work += features * features * m.groups.size();
    if (m.shape.queue > 1) work += features * m.shape.queue * m.shape.outputs;
    if (m.shape.reservoir > 0) work += features * m.shape.reservoir * m.shape.outputs;
    return work;
}

/// How many of the rows from `done` on make a block of about `rows`. It ends with a whole batch:
/// rows of weight zero take no place in one.
inline std::size_t block_size(const TrainingBatch& lesson, std::size_t done, std::size_t rows) {
    const std::size_t left = lesson.count - done;
    if (rows >= left) return left;
    if (lesson.batch_size == 1) return rows;
    std::size_t size = 0, waiting = 0;
    while (size < left && (size < rows || waiting > 0)) {
        const bool counts = lesson.weight(lesson.row(done + size++)) > 0;
        if (counts) waiting = (waiting + 1) % lesson.batch_size;
    }
    return size;
}

/// How the threads share a lesson: so many of them the models, in blocks of so many rows.
struct Crews {
    std::size_t count, rows;

    /// A block takes some hundredths of a second.
    template <class T>
    static Crews of(const std::vector<Model<T>*>& models, const TrainingBatch& lesson) {
        constexpr std::size_t enough = std::size_t{1} << 25;
        std::size_t work = 1;
        for (const Model<T>* m : models) work += learning_work(*m, lesson);
        const std::size_t busy =
                              std::clamp<std::size_t>(lesson.count * work >> 16, 1, lesson.threads),
                          crews = std::min(busy, std::max<std::size_t>(models.size(), 1));
        return {crews, std::max<std::size_t>(enough / work * crews, 1)};
    }
};

/// Learns a lesson in all models, each as if it were alone; threads share the models, and what
/// threads are left share the outputs of each. After each block all models stand at the same
/// example, and the caller is asked whether to stop: then they keep what they have learned. Where a
/// row is refused, a model overflows or memory runs out, every model is as it was, unless the
/// lesson does without; of several refusals the one of the first row is thrown. A lesson that is a
/// part of a longer one, which is looked over as a whole, does without both.
template <class T>
inline void learn_together(const std::vector<Model<T>*>& models, const TrainingBatch& lesson) {
    std::optional<Transaction<T>> before;
    if (lesson.undo || lesson.look) before.emplace(models, lesson);
    try {
        const Crews crews = Crews::of(models, lesson);
        Joint<T> joint(models, lesson);
        TrainingBatch block = lesson;
        block.threads = lesson.threads / crews.count;
        for (std::size_t done = 0; done < lesson.count; done += block.count) {
            if (done > 0 && lesson.interrupted && lesson.interrupted()) throw Interrupted();
            block.first = lesson.first + done;
            block.count = block_size(lesson, done, crews.rows);
            joint.begin(block);
            together(models.size(), crews.count, [&](std::size_t i, std::size_t& at) {
                if (joint.watches(i)) return learn_watched(*models[i], joint.part(block, i), at);
                learn_all(*models[i], block, at);
            });
            joint.end(block);
        }
        if (lesson.look) before->check();
    } catch (const Interrupted&) {
        throw;
    } catch (...) {
        if (lesson.undo) before->restore();
        throw;
    }
}

}  // namespace aggro
