// f = sum_i a_i k(x_i, .): the coefficients of the support vectors, one slot each.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "rows/lanes.hpp"

namespace aggro {

class Expansion {
  public:
    explicit Expansion(std::size_t count = 1, bool averages = false)
        : outputs(count),
          stride(std::max<std::size_t>(padded<double>(count), 1)),
          average(averages) {}

    std::size_t size() const { return ids.size(); }
    double* coef(std::size_t slot) { return coefs.data() + slot * stride; }
    const double* coef(std::size_t slot) const { return coefs.data() + slot * stride; }

    std::size_t append(std::int64_t id, double self_kernel) {
        const std::size_t slot = size();
        coefs.resize(coefs.size() + stride, 0.0);
        if (average) shifts.resize(shifts.size() + stride, 0.0);
        ids.push_back(id), born.push_back(next_birth++), self.push_back(self_kernel);
        slots[id] = slot;
        return slot;
    }

    /// Remove `slot`, which the last one replaces.
    void remove(std::size_t slot) {
        const std::size_t last = size() - 1;
        slots.erase(ids[slot]);
        if (slot != last) slots[ids[last]] = slot;
        replace_by_last(coefs, slot, stride);
        if (average) replace_by_last(shifts, slot, stride);
        replace_by_last(ids, slot), replace_by_last(born, slot), replace_by_last(self, slot);
    }

    /// Add tau to the coefficients: a += tau. For the mean over all rounds, z += t tau; the mean is
    /// a - z / t.
    void add(std::size_t slot, const double* tau, double rounds) {
        for (std::size_t k = 0; k < outputs; ++k) coefs[slot * stride + k] += tau[k];
        if (!average) return;
        for (std::size_t k = 0; k < outputs; ++k) shifts[slot * stride + k] += rounds * tau[k];
    }

    /// Add a share of the coefficients of `from` to `to`, including those of the mean.
    void transfer(std::size_t from, std::size_t to, double share) {
        for (std::size_t k = 0; k < stride; ++k)
            coefs[to * stride + k] += share * coefs[from * stride + k];
        for (std::size_t k = 0; average && k < stride; ++k)
            shifts[to * stride + k] += share * shifts[from * stride + k];
    }

    /// Return the same support vectors with other outputs: `change`, new x old, is the matrix that
    /// maps the current outputs to them.
    Expansion with_outputs(std::size_t count, const std::vector<double>& change) const {
        Expansion to = *this;
        to.outputs = count;
        to.stride = std::max<std::size_t>(padded<double>(count), 1);
        const auto turn = [&](const std::vector<double>& values) {
            std::vector<double> out(values.size() / stride * to.stride);
            for (std::size_t slot = 0; slot < values.size() / stride; ++slot)
                for (std::size_t k = 0; k < count; ++k)
                    for (std::size_t c = 0; c < outputs; ++c)
                        out[slot * to.stride + k] +=
                            change[k * outputs + c] * values[slot * stride + c];
            return out;
        };
        to.coefs = turn(coefs);
        to.shifts = turn(shifts);
        return to;
    }

    double squared_weight(std::size_t slot) const {
        double total = 0;
        for (std::size_t k = 0; k < outputs; ++k) total += coef(slot)[k] * coef(slot)[k];
        return total;
    }

    /// Return the predicting coefficients after this number of rounds, with the same stride.
    std::vector<double> predictor(std::int64_t rounds) const {
        std::vector<double> out = coefs;
        for (std::size_t i = 0; average && rounds > 0 && i < out.size(); ++i)
            out[i] -= shifts[i] / static_cast<double>(rounds);
        return out;
    }

    /// scores[k] = sum_i values[i] a_i[k].
    void score(const double* values, const double* coefficients, double* scores) const {
        const DenseRow<double> row{values, size()};
        if (stride == 1)
            scores[0] = weights_dot(row, coefficients);
        else
            dot_lanes(row, StridedLanes<double>{coefficients, stride}, stride, scores);
    }

    void rebuild_index() {
        slots.clear();
        for (std::size_t i = 0; i < ids.size(); ++i) slots[ids[i]] = i;
    }

    std::size_t outputs, stride;
    bool average;
    std::int64_t next_birth = 0;
    std::vector<double> coefs, shifts;    ///< slots x stride
    std::vector<double> self;             ///< k(x, x), including the constant
    std::vector<std::int64_t> ids, born;  ///< index of the example, and time of its addition
    std::unordered_map<std::int64_t, std::size_t> slots;

  private:
    template <class T>
    static void replace_by_last(std::vector<T>& values, std::size_t slot, std::size_t width = 1) {
        const auto from = values.end() - static_cast<std::ptrdiff_t>(width);
        std::copy(from, values.end(), values.begin() + static_cast<std::ptrdiff_t>(slot * width));
        values.resize(values.size() - width);
    }
};

}  // namespace aggro
