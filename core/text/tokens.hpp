// Documents to features: words, n-grams of words, n-grams of characters.
//
// The definitions are those of scikit-learn's analyzers. The words of a document are written to a
// buffer, separated by single spaces, so that an n-gram is a substring of the buffer.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "text/letters.hpp"

namespace aggro::words {

enum class Analyzer : std::uint8_t { word, character, character_in_words };

/// Words to skip, in a hash table.
class StopWords {
  public:
    StopWords() = default;
    explicit StopWords(std::vector<std::string> words)
        : words_(std::move(words)), table_(std::bit_ceil(4 * words_.size() + 1), nobody) {
        for (std::uint32_t i = 0; i < words_.size(); ++i) {
            const std::size_t size = words_[i].size();
            words_[i].reserve(size + 8);  // hashing reads beyond the end
            longest_ = std::max(longest_, size);
            std::size_t at = place(words_[i].data(), size);
            while (table_[at] != nobody) at = (at + 1) & (table_.size() - 1);
            table_[at] = i;
        }
    }

    bool empty() const { return words_.empty(); }

    /// Return whether a word, with padding after it, is a stop word.
    bool contains(std::string_view word) const {
        if (word.size() > longest_) return false;
        std::size_t at = place(word.data(), word.size());
        for (; table_[at] != nobody; at = (at + 1) & (table_.size() - 1))
            if (words_[table_[at]] == word) return true;
        return false;
    }

  private:
    static constexpr std::uint32_t nobody = 0xFFFFFFFFu;

    std::size_t place(const char* word, std::size_t size) const {
        return murmur3_padded(word, size) & (table_.size() - 1);
    }

    std::vector<std::string> words_;
    std::vector<std::uint32_t> table_;
    std::size_t longest_ = 0;
};

struct Analysis {
    Analyzer analyzer = Analyzer::word;
    bool lowercase = true;
    bool split_at_spaces = false;         ///< words end at white space only
    std::size_t shortest = 2;             ///< characters of a word
    std::size_t lowest = 1, highest = 1;  ///< n of the n-grams
    StopWords stop_words;
};

/// A feature of a document: its hash, and the position of its text.
struct Feature {
    std::uint32_t hash, begin, length;
};

/// The features of some documents, grouped by document and, within it, by n.
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
        a_.shortest = std::max<std::size_t>(a_.shortest, 1);
        for (std::size_t c = 0; c < 128; ++c) {
            if (!belongs(ascii.kinds[c])) continue;
            plain_[c] = static_cast<std::uint16_t>(0x100 | c);
            lowered_[c] = static_cast<std::uint16_t>(0x100 | ascii.lower[c]);
        }
    }

    const Analysis& analysis() const { return a_; }

    /// Add the features of a document of valid UTF-8; `as_is` if it is lower case already.
    void read(std::string_view text, bool as_is, Features& out) {
        const bool lowercase = a_.lowercase && !as_is;
        begins_.clear();
        ends_.clear();
        if (a_.analyzer == Analyzer::word) {
            if (is_ascii(text))
                cut_ascii(text, lowercase, out.text);
            else
                cut(text, lowercase, out.text);
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

    /// Write the words of ASCII text to the buffer. Characters are classified many at a time, as
    /// bits; words start and end where the bits change.
    void cut_ascii(std::string_view text, bool lowercase, std::string& buffer) {
        const std::size_t size = text.size(), blocks = size / 64 + 1;
        small_.resize(blocks * 64 + chunk);
        inside_.assign(blocks * 64, 0);
        mark(reinterpret_cast<const unsigned char*>(text.data()), size, lowercase);
        std::size_t used = buffer.size(), begin = 0;
        buffer.resize(used + size + 2 * chunk);
        char* const to = buffer.data();
        std::uint64_t before = 0;  // whether the character before the block is in a word
        for (std::size_t block = 0; block < blocks; ++block) {
            const std::uint64_t bits = bits_of(inside_.data() + block * 64);
            for (std::uint64_t edges = bits ^ (bits << 1 | before); edges; edges &= edges - 1) {
                const auto bit = static_cast<std::size_t>(std::countr_zero(edges));
                if (bits >> bit & 1) {
                    begin = block * 64 + bit;
                    continue;
                }
                const std::size_t length = block * 64 + bit - begin;
                for (std::size_t i = 0; i < length; i += chunk)
                    std::memcpy(to + used + i, small_.data() + begin + i, chunk);
                used = end_word(to, used, used + length, length);
            }
            before = bits >> 63;
        }
        buffer.resize(used);
    }

    /// Compute the lower case of each character and whether it is part of a word; vectorised by the
    /// compiler.
    void mark(const unsigned char* text, std::size_t size, bool lowercase) {
        unsigned char *const small = small_.data(), *const inside = inside_.data();
        const auto within = [](unsigned char c, unsigned char first, unsigned char count) {
            return static_cast<unsigned char>(c - first) < count;
        };
        const unsigned char step = lowercase ? 32 : 0;
        if (a_.split_at_spaces) {
            for (std::size_t i = 0; i < size; ++i) {
                const unsigned char c = text[i];
                inside[i] = !(c == ' ' || within(c, 9, 5) || within(c, 28, 4));
                small[i] = static_cast<unsigned char>(c + (within(c, 'A', 26) ? step : 0));
            }
        } else {
            for (std::size_t i = 0; i < size; ++i) {
                const unsigned char c = text[i];
                inside[i] = within(c | 32, 'a', 26) || within(c, '0', 10) || c == '_';
                small[i] = static_cast<unsigned char>(c + (within(c, 'A', 26) ? step : 0));
            }
        }
    }

    /// Return the lowest bits of 64 bytes.
    static std::uint64_t bits_of(const unsigned char* bytes) {
        std::uint64_t bits = 0;
        for (unsigned i = 0; i < 8; ++i) {
            std::uint64_t eight;
            std::memcpy(&eight, bytes + 8 * i, 8);
            if constexpr (std::endian::native == std::endian::big) eight = __builtin_bswap64(eight);
            bits |= (eight * 0x0102040810204080u >> 56) << (8 * i);
        }
        return bits;
    }

    /// Write the words of any text to the buffer.
    void cut(std::string_view text, bool lowercase, std::string& buffer) {
        const Letters& all = letters();
        const auto& table = lowercase ? lowered_ : plain_;
        std::size_t begin = buffer.size(), used = begin, length = 0;
        buffer.resize(used + text.size() / 2 * 3 + padding);  // lower case may be up to half longer
        char* const to = buffer.data();
        const auto take = [&](Character c) {
            if (belongs(c < 0x80 ? ascii.kinds[c] : all.kind(c))) {
                used += write(to + used, c);
                ++length;
            } else {
                begin = used = end_word(to, begin, used, std::exchange(length, 0));
            }
        };
        for (std::size_t i = 0; i < text.size();) {
            const auto byte = static_cast<unsigned char>(text[i]);
            if (byte >= 0x80) {
                use_character(text, i, lowercase, take);
            } else if (const std::uint16_t found = table[byte]; ++i, found != 0) {
                to[used++] = static_cast<char>(found);
                ++length;
            } else {
                begin = used = end_word(to, begin, used, std::exchange(length, 0));
            }
        }
        begin = end_word(to, begin, used, length);
        buffer.resize(begin);
    }

    /// Store a word that ends at `end`, followed by a space; return the start of the next one.
    std::size_t end_word(char* buffer, std::size_t begin, std::size_t end, std::size_t length) {
        if (length < a_.shortest) return begin;
        const std::string_view found(buffer + begin, end - begin);
        if (!a_.stop_words.empty() && a_.stop_words.contains(found)) return begin;
        begins_.push_back(begin);
        ends_.push_back(end);
        buffer[end] = ' ';
        return end + 1;
    }

    void word_grams(Features& out) {
        for (std::size_t n = a_.lowest; n <= a_.highest; ++n) {
            const std::size_t old = out.all.size(),
                              count = begins_.size() < n ? 0 : begins_.size() + 1 - n;
            out.all.resize(old + count);
            for (std::size_t i = 0; i < count; ++i)
                out.all[old + i] = feature(begins_[i], ends_[i + n - 1], out);
            out.ends.push_back(out.all.size());
        }
    }

    // -- characters -------------------------------------------------------------------------

    /// Copy the text with repeated spaces collapsed; `begins_` gets the starts of its characters,
    /// and its end.
    void collapse_spaces(std::string_view text, bool lowercase, std::string& buffer) {
        std::size_t spaces = 0;
        const auto kind = [](Character c) { return c < 0x80 ? ascii.kinds[c] : letters().kind(c); };
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
        buffer.reserve(buffer.size() + padding);
    }

    /// Copy the words with a blank before and after each; `padded_` gets the positions of both
    /// blanks.
    void pad_words(std::string_view text, bool lowercase, std::string& buffer) {
        padded_.clear();
        bool inside = false;
        const auto kind = [](Character c) { return c < 0x80 ? ascii.kinds[c] : letters().kind(c); };
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
        buffer.reserve(buffer.size() + padding);
    }

    /// Add all n-grams of the characters from `first` to before `last`.
    void grams(std::size_t first, std::size_t last, std::size_t n, Features& out) {
        for (std::size_t i = first; i + n <= last; ++i) add(begins_[i], begins_[i + n], out);
    }

    /// Add the n-grams of a padded word; a word shorter than n is one feature, once for all n (as
    /// in scikit-learn).
    void padded_grams(std::size_t first, std::size_t last, std::size_t n, Features& out) {
        const std::size_t length = last + 1 - first;
        if (length > n) return grams(first, last + 1, n, out);
        if (n == std::max(length, a_.lowest)) add(begins_[first], begins_[last + 1], out);
    }

    void add(std::size_t begin, std::size_t end, Features& out) {
        out.all.push_back(feature(begin, end, out));
    }

    static Feature feature(std::size_t begin, std::size_t end, const Features& in) {
        return {murmur3_padded(in.text.data() + begin, end - begin),
                static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end - begin)};
    }

    static constexpr std::size_t padding =
        8;  ///< bytes after a text, which is read in words of four bytes

    Analysis a_;
    static constexpr std::size_t chunk = 16;  ///< bytes per copy

    std::vector<unsigned char> small_, inside_;           ///< of the characters of a text
    std::array<std::uint16_t, 128> plain_{}, lowered_{};  ///< 0 for characters outside words
    std::vector<std::size_t> begins_, ends_;
    std::vector<std::pair<std::size_t, std::size_t>> padded_;
};

}  // namespace aggro::words
