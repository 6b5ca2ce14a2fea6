// The work of one thread: some groups of a model, whose outputs no other thread touches.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "linear/model.hpp"

namespace aggro {

/// Whole groups, and the columns they lie in.
struct Share {
    std::size_t first_group = 0, end_group = 0;
    std::size_t first = 0, end = 0;  ///< outputs, which are also columns
    std::size_t columns = 0;  ///< from `first` on, with class sums and padding if they follow
};

template <class T>
inline Share whole(const Model<T>& m) {
    return {0, m.groups.size(), 0, m.shape.outputs, m.columns};
}

/// The outputs and groups of a share. A single output rules out all others: the compiler may know.
template <bool Single>
struct Part {
    Share share;

    std::size_t first() const { return Single ? 0 : share.first; }
    std::size_t end() const { return Single ? 1 : share.end; }
    std::size_t first_group() const { return Single ? 0 : share.first_group; }
    std::size_t end_group() const { return Single ? 1 : share.end_group; }
};

/// Scores and losses of each example before it is learned, by threads, until they can be counted in
/// the record that all outputs share: predictions need all scores of a row.
struct Journal {
    std::size_t stride;  ///< whole cache lines for each example
    std::size_t rivals;
    Aligned<double> all_votes, all_losses;

    template <class T>
    Journal(const Model<T>& m, std::size_t examples)
        : stride((m.shape.outputs + 7) / 8 * 8),
          rivals(m.shape.rivals()),
          all_votes(examples * stride * rivals),
          all_losses(examples * stride) {}

    /// The scores of a rival; of models of one margin each, whether they were wrong.
    double* votes(std::size_t i, std::size_t rival = 0) {
        return all_votes.data() + (i * rivals + rival) * stride;
    }
    double* losses(std::size_t i) { return all_losses.data() + i * stride; }
};

/// True if the groups are independent: each could be a model of its own.
template <class T>
inline bool independent(const Model<T>& m) {
    return m.groups.size() > 1 && m.shape.sums == 0 && m.shape.reservoir == 0 &&
           m.shape.spreads == 0;
}

/// Cuts the model into at most `most` shares of about equal size, where a cache line ends: threads
/// that write to one line would wait for each other all the time. With fewer columns than `least` a
/// thread would mostly do what the others do too: read the row, and find its features.
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
