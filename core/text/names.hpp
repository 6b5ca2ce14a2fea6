// Names of hashed columns: the most frequent words, up to a limit.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace aggro::words {

class Names {
  public:
    struct Entry {
        std::uint32_t hash, count;
        std::size_t begin;
        std::uint32_t length;
    };

    explicit Names(std::size_t most) : most_(most), table_(1 << 10, nobody) {}

    const std::vector<Entry>& entries() const { return entries_; }
    std::string_view name(const Entry& e) const { return {text_.data() + e.begin, e.length}; }

    void note(std::uint32_t hash, std::string_view name, std::uint32_t count = 1) {
        std::size_t at = hash & (table_.size() - 1);
        for (; table_[at] != nobody; at = (at + 1) & (table_.size() - 1)) {
            Entry& entry = entries_[table_[at]];
            if (entry.hash == hash && this->name(entry) == name) {
                entry.count += count;
                if (remembers_) noted_.push_back(table_[at]);
                return;
            }
        }
        table_[at] = static_cast<std::uint32_t>(entries_.size());
        entries_.push_back({hash, count, text_.size(), static_cast<std::uint32_t>(name.size())});
        text_ += name;
        if (2 * entries_.size() > table_.size()) index(2 * table_.size());
    }

    /// Remove the less frequent half if there are too many; of equal ones the later.
    void prune() {
        if (entries_.size() <= most_) return;
        std::vector<Entry> best = entries_;
        const auto more = [](const Entry& a, const Entry& b) {
            return a.count != b.count ? a.count > b.count : a.begin < b.begin;
        };
        const std::size_t half = std::max<std::size_t>(most_ / 2, 1);
        std::nth_element(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(half), best.end(),
                         more);
        best.resize(half);
        std::sort(best.begin(), best.end(),
                  [](const Entry& a, const Entry& b) { return a.begin < b.begin; });
        std::string text;
        for (Entry& entry : best) {
            const std::string_view name = this->name(entry);
            entry.begin = text.size();
            text += name;
        }
        text_ = std::move(text);
        entries_ = std::move(best);
        index(table_.size());
    }

    void begin() {
        remembers_ = true;
        noted_.clear();
        size_ = entries_.size();
    }
    void keep() { remembers_ = false; }
    void restore() {
        for (const std::uint32_t entry : noted_) --entries_[entry].count;
        if (entries_.size() > size_) {
            text_.resize(entries_[size_].begin);
            entries_.resize(size_);
            index(table_.size());
        }
        keep();
    }

  private:
    static constexpr std::uint32_t nobody = 0xFFFFFFFFu;

    void index(std::size_t size) {
        table_.assign(size, nobody);
        for (std::uint32_t i = 0; i < entries_.size(); ++i) {
            std::size_t at = entries_[i].hash & (size - 1);
            while (table_[at] != nobody) at = (at + 1) & (size - 1);
            table_[at] = i;
        }
    }

    std::size_t most_;
    std::string text_;
    std::vector<Entry> entries_;
    std::vector<std::uint32_t> table_, noted_;
    bool remembers_ = false;
    std::size_t size_ = 0;
};

}  // namespace aggro::words
