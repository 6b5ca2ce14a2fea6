// Python's view of what models have learned since a common start.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "linear/merge.hpp"

namespace aggro {

/// The change of one model, with an influence, or the sum of several: the fields of Python's
/// `Change` that the core reads.
struct Change {
    ChangeLayout layout;
    std::string rules;  ///< of the shared numbers
    Since since;
    bool summed;
    double weight;
    ChangeTable table;
    std::vector<double> shared;

    explicit Change(nb::handle change)
        : layout{nb::cast<std::size_t>(change.attr("outputs")),
                 nb::cast<bool>(change.attr("averages")),
                 nb::cast<std::string>(change.attr("rules"))},
          rules(nb::cast<std::string>(change.attr("shared_rules"))),
          since{nb::cast<double>(change.attr("models")), nb::cast<double>(change.attr("examples")),
                nb::cast<double>(change.attr("averaged"))},
          summed(nb::cast<bool>(change.attr("summed"))),
          weight(nb::cast<double>(change.attr("weight"))) {
        const auto touched = nb::cast<Column<std::int64_t>>(change.attr("touched"));
        const auto lines = nb::cast<Column<double>>(change.attr("lines"));
        const auto numbers = nb::cast<Column<double>>(change.attr("shared"));
        const std::size_t width = summed ? layout.sum_line() : layout.line();
        if (lines.size() != touched.size() * width || numbers.size() != rules.size())
            throw std::invalid_argument("the change has another shape");
        table.touched.assign(touched.data(), touched.data() + touched.size());
        shared.assign(numbers.data(), numbers.data() + numbers.size());
        table.lines.resize(touched.size() * layout.sum_line());
        for (std::size_t i = 0; i < touched.size(); ++i) {
            const double* line = lines.data() + i * width;
            double* sum = table.lines.data() + i * layout.sum_line();
            summed ? void(std::copy_n(line, width, sum)) : add_votes(layout, line, weight, sum);
        }
    }

    /// Add the change of other models.
    void add(const Change& other) {
        if (rules != other.rules || layout.sum_line() != other.layout.sum_line())
            throw std::invalid_argument("the changes have different shapes");
        table = add_sums(layout, table, other.table);
        aggro::add(rules, shared.data(), other.shared.data());
        since.models += other.since.models;
        since.examples += other.since.examples;
        since.averaged += other.since.averaged;
    }

    /// Return the fields of the sum by name.
    nb::dict fields() && {
        nb::dict found;
        found["models"] = since.models;
        found["examples"] = since.examples;
        found["averaged"] = since.averaged;
        found["summed"] = true;
        write(found, std::move(table), std::move(shared));
        return found;
    }

    static void write(nb::dict& found, ChangeTable table, std::vector<double> shared) {
        const std::size_t count = table.touched.size(), size = table.lines.size(),
                          width = shared.size();
        found["touched"] = to_numpy(std::move(table.touched), {count});
        found["lines"] = to_numpy(std::move(table.lines), {size});
        found["shared"] = to_numpy(std::move(shared), {width});
    }
};

/// Return the fields of the sum of changes, added in pairs.
inline nb::dict add_changes(const nb::list& given) {
    std::vector<Change> changes;
    for (nb::handle each : given) changes.emplace_back(each);
    if (changes.empty()) throw std::invalid_argument("there is no change to add");
    while (changes.size() > 1) {
        for (std::size_t i = 0; i + 1 < changes.size(); i += 2) {
            changes[i].add(changes[i + 1]);
            if (i > 0) changes[i / 2] = std::move(changes[i]);
        }
        if (changes.size() % 2 == 1) changes[changes.size() / 2] = std::move(changes.back());
        const auto half = static_cast<std::ptrdiff_t>((changes.size() + 1) / 2);
        changes.erase(changes.begin() + half, changes.end());
    }
    return std::move(changes[0]).fields();
}

/// Return the fields of what a model has learned since a start.
template <class T>
nb::dict change_since(Model<T>& end, Model<T>& start) {
    const ModelLines<T> after(end), before(start);
    if (after.layout.line() != before.layout.line() || after.rules != before.rules ||
        end.shape.features != start.shape.features)
        throw std::invalid_argument("the start has another shape");
    Since since;
    since.examples = static_cast<double>(end.counters.examples - start.counters.examples);
    since.averaged =
        averaged_weight(end.shape, end.counters) - averaged_weight(start.shape, start.counters);
    std::vector<double> shared = after.shared();
    const std::vector<double> known = before.shared();
    subtract(after.rules, after.fading_of(since), known.data(), shared.data(), shared.data());
    nb::dict found;
    found["outputs"] = after.layout.outputs;
    found["averages"] = after.layout.averages;
    found["rules"] = after.layout.rules;
    found["shared_rules"] = after.rules;
    found["models"] = since.models;
    found["examples"] = since.examples;
    found["averaged"] = since.averaged;
    Change::write(found, after.since(before, since.averaged), std::move(shared));
    return found;
}

/// Add the changes of all models to their start.
template <class T>
void apply_change(Model<T>& start, const Change& change, const Blend& blend) {
    ModelLines<T> lines(start);
    if (lines.rules != change.rules || lines.layout.line() != change.layout.line())
        throw std::invalid_argument("the change has another shape");
    const auto& touched = change.table.touched;
    const auto features = static_cast<std::int64_t>(start.shape.features);
    for (const std::int64_t j : touched)
        if (j < -1 || j >= features) throw std::invalid_argument("there is no such feature");
    lines.apply_shared(change.shared, change.since);
    lines.apply(change.table, change.since, blend);
}

}  // namespace aggro
