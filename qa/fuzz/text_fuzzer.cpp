// Feeds arbitrary bytes to the text parsers and checks what must hold for any input.
//
// The first byte chooses format and settings, the second where the rest is cut in two blocks: a
// parser must neither read outside its buffer nor give other rows when the cut moves.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "parsers/csv.hpp"
#include "parsers/svmlight.hpp"
#include "parsers/vw.hpp"

namespace {

using namespace aggro::text;

#define REQUIRE(condition)                                \
    if (!(condition)) {                                   \
        std::fprintf(stderr, "broken: %s\n", #condition); \
        std::abort();                                     \
    }

template <class R>
void check_rows(const R& rows, std::int64_t limit) {
    REQUIRE(rows.indices.size() == rows.values.size());
    REQUIRE(rows.indptr.data()[rows.count()] == static_cast<std::int64_t>(rows.indices.size()));
    REQUIRE(rows.labels.several || rows.labels.size() == rows.count());
    for (std::size_t row = 0; row < rows.count(); ++row)
        REQUIRE(rows.indptr.data()[row] <= rows.indptr.data()[row + 1]);
    for (std::size_t i = 0; i < rows.indices.size(); ++i) {
        REQUIRE(rows.indices.data()[i] >= 0 && rows.indices.data()[i] < limit);
        REQUIRE(std::isfinite(rows.values.data()[i]));
    }
}

template <class Format, class R>
void parse(std::string_view text, std::size_t cut, const Format& format, R& rows,
           Progress& progress) {
    // Copies of exactly the right size let the address sanitizer see any byte read beyond the end.
    bool wide = false;
    const auto feed = [&](std::string_view part, bool final) {
        const std::unique_ptr<char[]> exact(new char[part.size()]);
        std::memcpy(exact.get(), part.data(), part.size());
        return parse_block({exact.get(), part.size()}, final, std::size_t(-1), format, rows,
                           progress, wide);
    };
    const std::size_t used = feed(text.substr(0, cut), false);
    if (!progress.stopped) feed(text.substr(used), true);
    REQUIRE(!wide);  // 64-bit indices never ask for more
}

template <class Value, class Format>
void compare_cuts(std::string_view text, std::size_t cut, const Format& format, int settings,
                  std::int64_t limit) {
    const bool names = settings & 1, several = settings & 2;
    Rows<std::int64_t, Value> whole(names, several), parts(names, several);
    Progress whole_progress, parts_progress;
    whole_progress.skip_bad = parts_progress.skip_bad = settings & 4;
    parse(text, 0, format, whole, whole_progress);
    parse(text, cut, format, parts, parts_progress);
    check_rows(whole, limit);
    REQUIRE(whole.count() == parts.count() && whole.indices.size() == parts.indices.size());
    REQUIRE(whole_progress.bad == parts_progress.bad && whole_progress.line == parts_progress.line);
    const std::size_t bytes = whole.values.size() * sizeof(Value);
    REQUIRE(bytes == 0 || std::memcmp(whole.values.data(), parts.values.data(), bytes) == 0);
}

// A table of three columns, of which two are kept.
void parse_table(std::string_view text, std::size_t cut, Csv& csv, Progress& progress) {
    const auto feed = [&](std::string_view part, bool final) {
        const std::unique_ptr<char[]> exact(new char[part.size()]);
        std::memcpy(exact.get(), part.data(), part.size());
        return csv.parse({exact.get(), part.size()}, final, std::size_t(-1), progress);
    };
    const std::size_t used = feed(text.substr(0, cut), false);
    if (!progress.stopped) feed(text.substr(used), true);
}

void compare_tables(std::string_view text, std::size_t cut, int settings) {
    Csv whole(',', {0, -1, 1}, 100), parts(',', {0, -1, 1}, 100);
    Progress whole_progress, parts_progress;
    whole_progress.skip_bad = parts_progress.skip_bad = settings & 4;
    parse_table(text, 0, whole, whole_progress);
    parse_table(text, cut, parts, parts_progress);
    REQUIRE(whole_progress.bad == parts_progress.bad && whole_progress.line == parts_progress.line);
    const std::size_t rows = whole.count();
    REQUIRE(rows == parts.count());
    for (std::size_t row = 0; row < rows; ++row) REQUIRE(whole.lines[row] == parts.lines[row]);
    auto ours = whole.take_columns(), theirs = parts.take_columns();
    REQUIRE(ours.size() == 2 && theirs.size() == 2);
    for (std::size_t column = 0; column < 2; ++column) {
        Strings &one = ours[column], &other = theirs[column];
        REQUIRE(one.offsets.size() == rows + 1 && one.bytes.size() == other.bytes.size());
        REQUIRE(one.offsets[rows] == static_cast<std::int64_t>(one.bytes.size()));
        const auto* begin = reinterpret_cast<const char*>(one.bytes.data());
        REQUIRE(is_utf8(begin, begin + one.bytes.size()));
        REQUIRE(one.bytes.size() == 0 ||
                std::memcmp(begin, other.bytes.data(), one.bytes.size()) == 0);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const int settings = data[0];
    const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
    const std::size_t cut = text.empty() ? 0 : data[1] % (text.size() + 1);
    const std::int64_t limit = (settings & 32) ? 1000 : std::numeric_limits<std::int64_t>::max();
    if (settings & 64) {
        compare_tables(text, cut, settings);
    } else if (settings & 8) {
        compare_cuts<float>(text, cut, VowpalWabbit(10), settings, 1024);
    } else if (settings & 16) {
        compare_cuts<float>(text, cut, Svmlight(1, limit), settings, limit);
    } else {
        compare_cuts<double>(text, cut, Svmlight(0, limit), settings, limit);
    }
    return 0;
}
