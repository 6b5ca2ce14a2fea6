// Selects, copies and reorders models that learn side by side, and their labels.
#pragma once
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "linear/model.hpp"

namespace aggro {

/// Maps the lines of the new arrays to lines of the old ones.
template <class T>
struct Selection {
    Selection(const Model<T>& from, const Model<T>& to, const std::vector<std::size_t>& models,
              const std::vector<std::size_t>& labels)
        : from(from), to(to), models(models) {
        outputs = each_of(from.shape.outputs / from.shape.models, labels);
        groups = each_of(from.groups.size() / from.shape.models, labels);
        for (std::size_t c = 0; c < std::min(from.shape.sums, to.shape.sums); ++c)
            sums.push_back(c);
        if (!labels.empty() && to.shape.sums > 0) sums = labels;
        if (from.shape.total && to.shape.total) sums.push_back(from.shape.sums);
    }

    /// Fill an array of the new model from that of the old one, depending on its kind.
    template <class V>
    void fill(Per per, const V* source, std::size_t size, V* target, std::size_t capacity) const {
        switch (per) {
            case Per::cell:
                return fill_cells(source, target);
            case Per::column:
                return fill_columns(source, size, target, capacity);
            case Per::slot:
            case Per::output:
                return fill_slots(source, size, target);
            case Per::mixture:
                return fill_lines(outputs, from.shape.outputs, source, size, target);
            case Per::group:
                return fill_lines(groups, from.groups.size(), source, size, target);
            case Per::model:
                return fill_lines(models, from.shape.models, source, size, target);
            case Per::matrix:
                return;
            case Per::feature:
            case Per::shared:
                std::copy_n(source, std::min(size, capacity), target);
        }
    }

    const Model<T>&from, &to;
    std::vector<std::size_t> models, outputs, groups, sums;

  private:
    std::vector<std::size_t> each_of(std::size_t count,
                                     const std::vector<std::size_t>& labels) const {
        std::vector<std::size_t> all;
        for (const std::size_t model : models) {
            for (std::size_t i = 0; labels.empty() && i < count; ++i)
                all.push_back(model * count + i);
            for (const std::size_t label : labels) all.push_back(model * count + label);
        }
        return all;
    }

    /// Fill cells: outputs, then class sums, which all models share; then the other sections.
    template <class V>
    void fill_cells(const V* source, V* target) const {
        const std::size_t had = from.shape.outputs, has = outputs.size();
        const bool shifts = from.shape.averages() && to.shape.averages();
        const bool variances = from.diagonal() && to.diagonal();
        const std::size_t stride = to.weights.stride(), old_stride = from.weights.stride();
        for (std::size_t j = 0; j < to.shape.features;
             ++j, source += old_stride, target += stride) {
            const auto select = [&](std::size_t old_section, std::size_t section) {
                for (std::size_t k = 0; k < has; ++k)
                    target[section + k] = source[old_section + outputs[k]];
            };
            select(0, 0);
            for (std::size_t c = 0; c < sums.size(); ++c) target[has + c] = source[had + sums[c]];
            if (shifts) select(from.columns, to.columns);
            if (variances) select(from.variance_section(), to.variance_section());
        }
    }

    /// Fill a padded table of outputs.
    template <class V>
    void fill_columns(const V* source, std::size_t size, V* target, std::size_t capacity) const {
        const std::size_t features = to.shape.features;
        const std::size_t old_stride = size / features, stride = capacity / features;
        for (std::size_t j = 0; j < features; ++j, source += old_stride, target += stride)
            for (std::size_t k = 0; k < outputs.size(); ++k) target[k] = source[outputs[k]];
    }

    /// Fill the outputs of several classifiers.
    template <class V>
    void fill_slots(const V* source, std::size_t size, V* target) const {
        for (const V* end = source + size; source < end; source += from.shape.outputs)
            for (const std::size_t k : outputs) *target++ = source[k];
    }

    template <class V>
    static void fill_lines(const std::vector<std::size_t>& lines, std::size_t count,
                           const V* source, std::size_t size, V* target) {
        const std::size_t width = size / count;
        for (const std::size_t line : lines)
            target = std::copy_n(source + line * width, width, target);
    }
};

/// Continue model `models[i]` of `from` in model i of `to`, which is fresh. If `labels` are given,
/// the outputs are independent, and output k of a model continues output `labels[k]`.
template <class T>
void continue_models(Model<T>& to, Model<T>& from, const std::vector<std::size_t>& models,
                     const std::vector<std::size_t>& labels = {}) {
    const Selection<T> selection(from, to, models, labels);
    from.visit([&](const char* name, Per per, auto* source, std::size_t size) {
        using Values = decltype(source);
        to.visit([&](const char* other, Per, auto* target, std::size_t capacity) {
            if constexpr (std::is_same_v<Values, decltype(target)>)
                if (size > 0 && capacity > 0 && std::strcmp(name, other) == 0)
                    selection.fill(per, source, size, target, capacity);
        });
    });
    for (std::size_t c = 0; c < to.shape.sums && c < selection.sums.size(); ++c)
        for (auto values : {&Means::count, &Means::norm, &Means::cross})
            (to.means.*values)[c] = (from.means.*values)[selection.sums[c]];
    for (std::size_t j = 0; j < from.sum_rest.rows() && to.sum_rest.stride() > 0; ++j)
        for (std::size_t c = 0; c < selection.sums.size(); ++c)
            to.sum_rest.row(j)[c] = from.sum_rest.row(j)[selection.sums[c]];
    for (std::size_t g = 0; g < to.full.size(); ++g) to.full[g] = from.full[selection.groups[g]];
    to.record.memory = from.record.memory;
}

/// Continue `from` in `to`, a fresh model of the same settings, with feature j at `places[j]`; -1
/// leaves a feature out.
template <class T>
void continue_features(Model<T>& to, Model<T>& from, const std::vector<std::int64_t>& places) {
    const auto fill = [&](Per per, const auto* source, std::size_t size, auto* target) {
        if (per != Per::cell && per != Per::column && per != Per::slot && per != Per::feature)
            return void(std::copy_n(source, size, target));
        const std::size_t width = size / places.size();
        for (std::size_t j = 0; j < places.size(); ++j)
            if (places[j] >= 0)
                std::copy_n(source + j * width, width,
                            target + static_cast<std::size_t>(places[j]) * width);
    };
    from.visit([&](const char* name, Per per, auto* source, std::size_t size) {
        using Values = decltype(source);
        to.visit([&](const char* other, Per, auto* target, std::size_t) {
            if constexpr (std::is_same_v<Values, decltype(target)>)
                if (size > 0 && per != Per::matrix && std::strcmp(name, other) == 0)
                    fill(per, source, size, target);
        });
    });
    const auto place = [&](std::size_t j) { return places[j]; };
    for (std::size_t g = 0; g < to.full.size(); ++g)
        to.full[g] = from.full[g].rearranged(to.shape.features, place);
    to.record.memory = from.record.memory;
}

}  // namespace aggro
