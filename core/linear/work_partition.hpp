// The work of one thread: some groups of a model, whose outputs no other thread writes.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "linear/model.hpp"

namespace aggro {

/// Some groups, and the range of their columns.
struct Share {
    std::size_t first_group = 0, end_group = 0;
    std::size_t first = 0, end = 0;  ///< outputs, which are the first columns
    std::size_t columns = 0;         ///< from `first` on, with class sums and padding if adjacent
};

template <class T>
inline Share whole(const Model<T>& m) {
    return {0, m.groups.size(), 0, m.shape.outputs, m.columns};
}

/// The outputs and groups of a share; constants if there is a single output.
template <bool Single>
struct Part {
    Share share;

    std::size_t first() const { return Single ? 0 : share.first; }
    std::size_t end() const { return Single ? 1 : share.end; }
    std::size_t first_group() const { return Single ? 0 : share.first_group; }
    std::size_t end_group() const { return Single ? 1 : share.end_group; }
};

/// Scores and losses of each example before it is learned, written by threads. They are added to
/// the shared record later, since predictions need all scores of a row.
struct Journal {
    std::size_t stride;  ///< whole cache lines for each example
    std::size_t predictors;
    Aligned<double> all_votes, all_losses;

    template <class T>
    Journal(const Model<T>& m, std::size_t examples)
        : stride((m.shape.outputs + 7) / 8 * 8),
          predictors(m.shape.predictors()),
          all_votes(examples * stride * predictors),
          all_losses(examples * stride) {}

    /// Return the scores of a predictor or, for models of one margin each, whether they were wrong.
    double* votes(std::size_t i, std::size_t predictor = 0) {
        return all_votes.data() + (i * predictors + predictor) * stride;
    }
    double* losses(std::size_t i) { return all_losses.data() + i * stride; }
};

/// Return whether the groups are independent, so that each could be a model of its own.
template <class T>
inline bool independent(const Model<T>& m) {
    return m.groups.size() > 1 && m.shape.sums == 0 && m.shape.reservoir == 0 &&
           m.shape.spreads == 0;
}

/// Split the model into at most `most` shares of about equal size at ends of cache lines, to avoid
/// false sharing. With fewer columns than `least`, a thread would mostly repeat the work of the
/// others: reading the row and locating its features.
template <class T>
inline std::vector<Share> shares(const Model<T>& m, std::size_t most) {
    constexpr std::size_t line = 64 / sizeof(T), least = 256 / sizeof(T);
    most = std::clamp<std::size_t>(m.columns / least, 1, most);
    std::vector<Share> found;
    Share rest = whole(m);
    for (std::size_t g = 1; independent(m) && g < m.groups.size() && found.size() + 1 < most; ++g) {
        const std::size_t at = m.groups[g].first;
        if (at % line != 0 || at * most < m.columns * (found.size() + 1)) continue;
        found.push_back({rest.first_group, g, rest.first, at, at - rest.first});
        rest = {g, rest.end_group, at, rest.end, m.columns - at};
    }
    found.push_back(rest);
    return found;
}

}  // namespace aggro
