// Random Fourier features of standardised columns.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "base/random.hpp"

namespace aggro {

/// Combine two states of random numbers.
inline std::uint64_t mixed(std::uint64_t seed, std::uint64_t key) {
    std::uint64_t state = seed ^ (key * 0xD1B54A32D192ED03ULL);
    return random_bits(state);
}

/// Return cos(2πt) with an error below 4e-7: a polynomial in the squared distance to the nearest
/// integer.
inline float cosine_of_turns(float t) {
    const float turn = t - std::nearbyint(t), x = turn * turn;
    float p = 6.54589006f;
    p = p * x - 25.9814592f;
    p = p * x + 60.17190591f;
    p = p * x - 85.45076952f;
    p = p * x + 64.93916223f;
    p = p * x - 19.73920584f;
    return p * x + 1.0f;
}

/// Features cos(⟨w, z⟩ + b) with Gaussian directions w, whose inner products approximate a Gaussian
/// kernel (Rahimi and Recht, 2007). Half of the features use standardised columns, half their
/// ranks. The direction of a column depends only on the seed and the column.
struct Fourier {
    static constexpr double smoothness = 1.6;  ///< gamma of the kernel, times the number of columns
    static constexpr std::uint64_t offsets = 0x6F66667365747321ULL;

    std::size_t size = 0;  ///< number of features, even
    std::uint64_t seed = 0;
    double gamma = 0;
    std::vector<float> offset;      ///< in turns
    std::vector<float> directions;  ///< in turns; for each column one row of all features

    /// Draw the offsets; the width of the kernel depends on the number of columns.
    void begin(std::size_t columns) {
        gamma = smoothness / static_cast<double>(std::max<std::size_t>(columns, 4));
        std::uint64_t state = mixed(seed, offsets);
        offset.clear();
        for (std::size_t k = 0; k < size; ++k) offset.push_back(static_cast<float>(uniform(state)));
    }

    void grow(std::size_t columns) {
        const double turns = std::sqrt(2 * gamma) / (2 * std::numbers::pi);
        for (std::size_t j = size ? directions.size() / size : columns; j < columns; ++j) {
            std::uint64_t state = mixed(seed, j);
            for (std::size_t k = 0; k < size; ++k) {
                const double length = std::sqrt(-2 * std::log(uniform(state)));
                const double angle = 2 * std::numbers::pi * uniform(state);
                directions.push_back(static_cast<float>(turns * length * std::cos(angle)));
            }
        }
    }

    /// Fill `out` with the features of standardised values and of standardised ranks.
    template <class T>
    void map(const std::vector<float>& values, const std::vector<float>& ranks,
             std::vector<float>& phases, T* out) const {
        phases.assign(offset.begin(), offset.end());
        add(values, 0, size / 2, phases.data());
        add(ranks, size / 2, size, phases.data());
        const float factor = std::sqrt(2 / static_cast<float>(size));
        for (std::size_t k = 0; k < size; ++k)
            out[k] = static_cast<T>(factor * cosine_of_turns(phases[k]));
    }

  private:
    void add(const std::vector<float>& values, std::size_t begin, std::size_t end,
             float* phases) const {
        for (std::size_t j = 0; j < values.size(); ++j) {
            const float value = values[j], *direction = directions.data() + j * size;
            if (value != 0)
                for (std::size_t k = begin; k < end; ++k) phases[k] += value * direction[k];
        }
    }
};

}  // namespace aggro
