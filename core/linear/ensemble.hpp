// Ensemble predictions: on few examples, a mean of all models makes fewer errors than the best one.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "linear/passes.hpp"

namespace aggro {

/// A predictor's weight in the ensemble is multiplied by exp(-this) per unit of its loss
/// (`margin_error`).
inline constexpr double ensemble_rate = 2;

/// Return the index of the stretch that gives a predictor's margins the least loss.
inline std::size_t best_stretch(const Record& r, std::size_t predictor) {
    constexpr std::size_t ways = Record::stretches.size();
    const double* loss = &r.margin_loss[predictor * ways];
    return static_cast<std::size_t>(std::min_element(loss, loss + ways) - loss);
}

/// Set the coefficient of each predictor's score in the ensemble: a weight computed from the loss
/// of its margins, divided by the unit of its margins. Weights sum to one. Since each margin is
/// measured in units of its mean size, the unit of the prediction does not change when another
/// predictor has the least loss. With predict = false, all coefficients are zero.
template <class T>
inline void set_ensemble_weights(const std::vector<Model<T>*>& models, bool predict) {
    double least = std::numeric_limits<double>::infinity(), total = 0;
    const auto each = [&](auto&& use) {
        for (Model<T>* m : models)
            for (std::size_t i = 0; i < m->record.part.size(); ++i) {
                const Record& r = m->record;
                const std::size_t best = best_stretch(r, i);
                const double loss = r.margin_loss[i * Record::stretches.size() + best];
                use(m->record.part[i], loss / r.unit_of_weight(),
                    margin_unit(r, i) / Record::stretches[best]);
            }
    };
    each([&](double&, double loss, double) { least = std::min(least, loss); });
    each([&](double& part, double loss, double) {
        part = predict ? std::exp(ensemble_rate * (least - loss)) : 0;
        total += part;
    });
    constexpr double most = 1e100;  // for margins close to zero
    each([&](double& part, double, double unit) {
        part *= part > 0 ? std::min(most, 1 / unit) / total : 0;
    });
}

/// Return the unit of the best predictor's score in an ensemble prediction.
inline double unit_of_chosen(const Record& r) {
    if (r.part.empty()) return 1;
    const std::size_t model = best_record(r),
                      predictor = model * r.predictors + best_predictor(r, model);
    return margin_unit(r, predictor) / Record::stretches[best_stretch(r, predictor)];
}

/// Computes the ensemble predictions of a batch, block by block, if the models form an ensemble.
template <class T>
class EnsembleScores {
  public:
    EnsembleScores(const std::vector<Model<T>*>& all, const TrainingBatch& whole)
        : models(all), training(whole) {
        active = std::any_of(models.begin(), models.end(), [](const Model<T>* m) {
            return !m->counters.frozen && m->record.forms_ensemble();
        });
        if (!active) return;
        parts.resize(models.size());
        if (training.margins) margins.resize(models.size());
    }
    EnsembleScores(const EnsembleScores&) = delete;
    ~EnsembleScores() {
        for (Model<T>* m : models) m->ensemble_out = nullptr;
    }

    void begin(const TrainingBatch& block) {
        for (std::size_t i = 0; i < parts.size(); ++i) {
            parts[i].resize(block.count);
            models[i]->ensemble_out = parts[i].data();
        }
        for (auto& each : margins) each.resize(2 * (block.first + block.count));
    }

    /// Return whether the margins of a model are recorded; an ensemble needs those of all models.
    bool records(std::size_t i) const {
        return training.margins && (active || i == training.recorded);
    }

    /// Return the block for one model, with its own buffer for margins.
    TrainingBatch part(TrainingBatch block, std::size_t i) {
        if (active) block.margins = margins[i].data();
        return block;
    }

    /// Sum the parts and count the mistakes in every model.
    void end(const TrainingBatch& block) {
        std::size_t entry = 0;
        for (std::size_t k = 0; active && k < block.count; ++k) {
            const std::size_t row = block.row(k), at = 2 * (block.first + k);
            if (training.weight(row) == 0) continue;
            const double answer = sum(parts, entry++);
            for (std::size_t half = 0; training.margins && half < 2; ++half)
                training.margins[at + half] = sum(margins, at + half);
            const bool yes = training.target(row).sign(models[0]->groups[0].positive) > 0;
            if ((answer > 0) == yes) continue;
            for (Model<T>* m : models) {
                ++m->record.chosen_mistakes;
                if (m->shape.one_class) m->swapped.chosen_mistakes += answer != 0;
            }
        }
    }

  private:
    static double sum(const std::vector<std::vector<double>>& parts, std::size_t at) {
        double total = 0;
        for (const auto& part : parts) total += part[at];
        return total;
    }

    const std::vector<Model<T>*>& models;
    const TrainingBatch& training;
    bool active = false;
    std::vector<std::vector<double>> parts, margins;  ///< of each model, in the order of the rows
};

}  // namespace aggro
