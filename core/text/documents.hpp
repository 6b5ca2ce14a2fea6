// Document frequencies of features: online inverse document frequency.
//
// A document is counted first and then weighted by the counts so far:
//
//     idf(f) = 1 + ln((1 + documents) / (1 + documents with f))
//
// Instead of discounting old documents, each new one counts more than the last by 1 / (1 -
// forgetting), and counts are divided by the weight of the newest.
#pragma once
#include <cmath>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace aggro::words {

/// A bound of the document frequency: a number or a share of the documents.
struct Bound {
    double value;
    bool share;
    double of(double documents) const { return share ? value * documents : value; }
};

class Documents {
  public:
    Documents(double forgetting, Bound fewest, Bound most)
        : keeps_(1.0 - forgetting), fewest_(fewest), most_(most) {}

    double total = 0.0, emphasis = 1.0;
    std::vector<double> with;  ///< number of documents with each feature

    bool bounded() const { return fewest_.of(1e300) > 0 || most_.of(1.0) < 1.0 || !most_.share; }

    void grow(std::size_t features) {
        if (features > with.size()) with.resize(features, 0.0);
    }

    /// Count a document; the change can be undone.
    void count(std::span<const std::int32_t> features) {
        if (total > 0 && keeps_ < 1.0) emphasis /= keeps_;
        total += emphasis;
        for (const std::int32_t f : features) {
            double& documents = with[static_cast<std::size_t>(f)];
            if (remembers_) before_.emplace_back(f, documents);
            documents += emphasis;
        }
        if (emphasis > 1e100) rescale();
    }

    /// Return the number of documents with a feature; zero for an unknown one.
    double of(std::int32_t feature) const {
        const auto at = static_cast<std::size_t>(feature);
        return feature < 0 || at >= with.size() ? 0.0 : with[at] / emphasis;
    }

    /// Return whether a feature is neither too rare nor too frequent. One document is never too
    /// many.
    bool keeps(double documents) const {
        const double all = total / emphasis;
        return documents >= fewest_.of(all) && documents <= std::max(most_.of(all), 1.0);
    }

    double idf(double documents) const {
        return 1.0 + logarithm(1.0 + total / emphasis) - logarithm(1.0 + documents);
    }

    /// Begin a transaction: until `keep`, the changes of `count` can be undone.
    void begin() {
        remembers_ = true;
        before_.clear();
        kept_ = {total, emphasis};
        size_ = with.size();
    }
    void keep() { remembers_ = false; }
    void restore() {
        for (auto at = before_.rbegin(); at != before_.rend(); ++at)
            with[static_cast<std::size_t>(at->first)] = at->second;
        with.resize(size_);
        std::tie(total, emphasis) = kept_;
        keep();
    }

  private:
    /// Return the logarithm; those of small integers, which most counts are, come from a table.
    static double logarithm(double count) {
        static const std::vector<double> known = [] {
            std::vector<double> table(1 << 16);
            for (std::size_t i = 1; i < table.size(); ++i)
                table[i] = std::log(static_cast<double>(i));
            return table;
        }();
        if (count < static_cast<double>(known.size())) {
            const auto whole = static_cast<std::size_t>(count);
            if (static_cast<double>(whole) == count) return known[whole];
        }
        return std::log(count);
    }

    void rescale() {
        const double size = emphasis;
        for (double& documents : with) documents /= size;
        for (auto& [feature, documents] : before_) documents /= size;
        total /= size, emphasis = 1.0;
        kept_.first /= size, kept_.second /= size;
    }

    double keeps_;
    Bound fewest_, most_;
    bool remembers_ = false;
    std::vector<std::pair<std::int32_t, double>> before_;
    std::pair<double, double> kept_{0.0, 1.0};
    std::size_t size_ = 0;  // number of counts at `begin`
};

}  // namespace aggro::words
