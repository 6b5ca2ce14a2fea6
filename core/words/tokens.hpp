// Documents to features as strings: words, n-grams of words, n-grams of characters.
//
// The meaning is that of scikit-learn's analyzers. A document is written into a buffer in which its
// words stand with one space between them: then an n-gram is a piece of the buffer.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "hash.hpp"
#include "words/letters.hpp"

namespace aggro::words {

enum class Analyzer : std::uint8_t { word, character, character_in_words };

struct Analysis {
    Analyzer analyzer = Analyzer::word;
    bool lowercase = true;
    bool split_at_spaces = false;   ///< words end at white space only
    std::size_t shortest = 2;       ///< characters of a word
    std::size_t lowest = 1, highest = 1;  ///< n of the n-grams
    std::unordered_set<std::string> stop_words;
};

/// A feature of a document: its hash, and where its text lies.
struct Feature {
    std::uint32_t hash, begin, length;
};

/// The features of some documents: those of one length n after the other, document by document.
struct Features {
    std::string text;
    std::vector<Feature> all;
    std::vector<std::size_t> ends;  ///< highest - lowest + 1 for each document

    void clear() {
        text.clear();
        all.clear();
        ends.clear();
    }
    std::string_view name(const Feature& f) const { return {text.data() + f.begin, f.length}; }
};

class Reader {
  public:
    explicit Reader(Analysis analysis) : a_(std::move(analysis)) {
        for (const std::string& stop : a_.stop_words)
            longest_stop_ = std::max(longest_stop_, stop.size());
    }

    const Analysis& analysis() const { return a_; }

    /// Adds the features of a document of valid UTF-8; `as_is` if it is in lower case already.
    void read(std::string_view text, bool as_is, Features& out) {
        const bool lowercase = a_.lowercase && !as_is;
        begins_.clear();
        ends_.clear();
        if (a_.analyzer == Analyzer::word) {
            if (is_ascii(text))
                lowercase ? ascii_words<true>(text, out) : ascii_words<false>(text, out);
            else
                all_words(text, lowercase, out);
            word_grams(out);
        } else if (a_.analyzer == Analyzer::character) {
            collapse_spaces(text, lowercase, out.text);
            for (std::size_t n = a_.lowest; n <= a_.highest; ++n) {
                grams(0, begins_.size() - 1, n, out);
                out.ends.push_back(out.all.size());
            }
        } else {
            pad_words(text, lowercase, out.text);
            for (std::size_t n = a_.lowest; n <= a_.highest; ++n) {
                for (const auto& [first, last] : padded_) padded_grams(first, last, n, out);
                out.ends.push_back(out.all.size());
            }
        }
    }

  private:
    // -- words ------------------------------------------------------------------------------

    bool belongs(std::uint8_t kind) const {
        return a_.split_at_spaces ? (kind & space) == 0 : (kind & word) != 0;
    }

    template <bool lowercase>
    void ascii_words(std::string_view text, Features& out) {
        std::array<bool, 128> in;
        for (std::size_t c = 0; c < 128; ++c) in[c] = belongs(ascii.kinds[c]);
        std::string& buffer = out.text;
        std::size_t used = buffer.size();
        buffer.resize(used + text.size() + 1);
        char* const to = buffer.data();
        const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
        for (std::size_t i = 0; i < text.size();) {
            while (i < text.size() && !in[byte(i)]) ++i;
            const std::size_t begin = used;
            for (; i < text.size() && in[byte(i)]; ++i)
                to[used++] = static_cast<char>(lowercase ? ascii.lower[byte(i)] : byte(i));
            used = end_word(buffer, begin, used, used - begin);
        }
        buffer.resize(used);
    }

    void all_words(std::string_view text, bool lowercase, Features& out) {
        const Letters& all = letters();
        std::string& buffer = out.text;
        std::size_t begin = buffer.size(), length = 0;
        const auto end = [&] {
            buffer.push_back(' ');  // room for it; the word may be dropped
            begin = end_word(buffer, begin, buffer.size() - 1, length);
            buffer.resize(begin);
            length = 0;
        };
        for_each_character(text, lowercase, [&](Character c) {
            if (belongs(all.kind(c))) {
                append(buffer, c);
                ++length;
            } else if (length > 0) {
                end();
            }
        });
        if (length > 0) end();
    }

    /// Keeps a word that ends at `end`, a space behind it; returns where the next one begins.
    std::size_t end_word(std::string& buffer, std::size_t begin, std::size_t end,
                         std::size_t length) {
        if (length < a_.shortest || length == 0) return begin;
        const std::string_view found(buffer.data() + begin, end - begin);
        if (found.size() <= longest_stop_ && a_.stop_words.contains(std::string(found)))
            return begin;
        begins_.push_back(begin);
        ends_.push_back(end);
        buffer[end] = ' ';
        return end + 1;
    }

    void word_grams(Features& out) {
        for (std::size_t n = a_.lowest; n <= a_.highest; ++n) {
            for (std::size_t i = 0; i + n <= begins_.size(); ++i)
                add(begins_[i], ends_[i + n - 1], out);
            out.ends.push_back(out.all.size());
        }
    }

    // -- characters -------------------------------------------------------------------------

    /// Copies the text, several spaces as one blank; `begins_` are its characters and its end.
    void collapse_spaces(std::string_view text, bool lowercase, std::string& buffer) {
        std::size_t spaces = 0;
        const auto kind = [](Character c) {
            return c < 0x80 ? ascii.kinds[c] : letters().kind(c);
        };
        for_each_character(text, lowercase, [&](Character c) {
            spaces = kind(c) & space ? spaces + 1 : 0;
            if (spaces > 1) {
                buffer.resize(begins_.back());
                buffer.push_back(' ');
            } else {
                begins_.push_back(buffer.size());
                append(buffer, c);
            }
        });
        begins_.push_back(buffer.size());
    }

    /// Copies the words, a blank before and after each; `padded_` are the places of both blanks.
    void pad_words(std::string_view text, bool lowercase, std::string& buffer) {
        padded_.clear();
        bool inside = false;
        const auto kind = [](Character c) {
            return c < 0x80 ? ascii.kinds[c] : letters().kind(c);
        };
        const auto blank = [&] {
            begins_.push_back(buffer.size());
            buffer.push_back(' ');
        };
        const auto end = [&] {
            blank();
            padded_.back().second = begins_.size() - 1;
            inside = false;
        };
        for_each_character(text, lowercase, [&](Character c) {
            if (kind(c) & space) {
                if (inside) end();
                return;
            }
            if (!inside) {
                blank();
                padded_.emplace_back(begins_.size() - 1, 0);
                inside = true;
            }
            begins_.push_back(buffer.size());
            append(buffer, c);
        });
        if (inside) end();
        begins_.push_back(buffer.size());
    }

    /// All n-grams of the characters from `first` to before `last`.
    void grams(std::size_t first, std::size_t last, std::size_t n, Features& out) {
        for (std::size_t i = first; i + n <= last; ++i) add(begins_[i], begins_[i + n], out);
    }

    /// A word shorter than n is one feature, once for all n (as scikit-learn counts it).
    void padded_grams(std::size_t first, std::size_t last, std::size_t n, Features& out) {
        const std::size_t length = last + 1 - first;
        if (length > n) return grams(first, last + 1, n, out);
        if (n == std::max(length, a_.lowest)) add(begins_[first], begins_[last + 1], out);
    }

    void add(std::size_t begin, std::size_t end, Features& out) {
        const std::string_view name(out.text.data() + begin, end - begin);
        out.all.push_back({murmur3(name, 0), static_cast<std::uint32_t>(begin),
                           static_cast<std::uint32_t>(end - begin)});
    }

    Analysis a_;
    std::size_t longest_stop_ = 0;
    std::vector<std::size_t> begins_, ends_;
    std::vector<std::pair<std::size_t, std::size_t>> padded_;
};

}  // namespace aggro::words
