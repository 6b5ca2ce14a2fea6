"""The vectoriser of the core equals scikit-learn's to the last bit."""

import itertools
import pickle
import random
import warnings

import numpy as np
import pytest
from closeness import assert_close
from sklearn.feature_extraction.text import (
    ENGLISH_STOP_WORDS,
    TfidfTransformer,
)
from sklearn.feature_extraction.text import (
    HashingVectorizer as Theirs,
)

from aggro import _core
from aggro.text import HashingVectorizer
from aggro.text.options import stops

SENTENCES = [
    "The quick brown fox; jumps over the lazy dog's back. It's 3.14 o'clock!",
    "Ärger über Öl: Straße, ẞ, naïve café — «déjà-vu»… ﬁn",
    "Москва и Санкт-Петербург, ЁЛКА; ΟΔΥΣΣΕΥΣ ΣΑΣ Σ ΑΣ. ΑΣ'Α ΌΣΟΣ",
    "İstanbul'da IĞDIR ve ılık; DŽ Dž dž ǅ ᾘ ὒ",
    "日本語のテキスト 中文 한국어 ไทย हिन्दी العربية עברית",
    "👍🏽 family 👨‍👩‍👧 flags 🇩🇪 a\u0301b e\u0308 x\u200dy \u202eright-to-left\u202c",
    "tabs\tand\nlines\r\nand\x0bmore\x0c\x1c\x1d\x1e\x1f\x85\xa0\u2003spaces   here ",
    "nul\x00in\x00side \x00\x00 _under_score__ 12 1 ١٢٣ ²³ ½ Ⅷ",
    "",
    "a",
    " ",
    "word " * 3000,
    "x" * 70_000,
]


def everything():
    """Yield texts of all characters but surrogates, 64 in each, alone and between letters."""
    characters = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    yield from ("".join(characters[i : i + 64]) for i in range(0, len(characters), 64))
    for c in characters[:0x2000] + characters[0xA000:0xB000] + characters[0x10000:0x11000]:
        yield f"ab{c}cd Σ{c}Σ a{c}Σ Σ{c}a aΣ{c} aΣ{c}b"


def mixed(seed, count=400):
    rng = random.Random(seed)
    pieces = ["ab", "Σ", "İ", " ", "\n\n", "́", "é", "-", "🙂", "ß", "ᾳ", "_", "7", "\x00"]
    for _ in range(count):
        yield "".join(rng.choice(pieces) for _ in range(rng.randrange(60)))


def assert_equal(documents, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # stop words and characters
        expected = Theirs(**options).transform(documents)
    found = HashingVectorizer(**options).transform(documents)
    for name in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), (name, options)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype


def test_every_character_has_scikit_learns_properties():
    documents = list(everything())
    assert_equal(documents)
    assert_equal(documents[::7], lowercase=False, token_pattern=r"(?u)\S+")
    assert_equal(documents[::11], analyzer="char_wb", ngram_range=(1, 3))


GRID = [
    {"analyzer": analyzer, "ngram_range": ngram_range, **others}
    for (analyzer, ngram_range), others in itertools.product(
        itertools.product(("word", "char", "char_wb"), ((1, 1), (1, 2), (2, 3), (3, 5))),
        (
            {},
            {"lowercase": False, "norm": "l1", "n_features": 1000, "alternate_sign": False},
            {"binary": True, "n_features": 7, "stop_words": "english"},
            {"norm": None, "strip_accents": "unicode", "dtype": np.float32},
        ),
    )
]


@pytest.mark.parametrize("options", GRID, ids=str)
def test_rows_equal_scikit_learns_for_each_option(options):
    assert_equal([*SENTENCES, *mixed(0)], **options)


@pytest.mark.parametrize("pattern", [r"(?u)\b\w\w+\b", r"(?u)\b\w+\b", r"(?u)\S+"])
@pytest.mark.parametrize("accents", [None, "ascii", "unicode"])
def test_patterns_and_accents_equal_scikit_learns(pattern, accents):
    documents = [*SENTENCES, *mixed(1)]
    assert_equal(documents, token_pattern=pattern, strip_accents=accents, ngram_range=(1, 2))


def test_stop_words_are_those_of_scikit_learn():
    assert stops("english") == ENGLISH_STOP_WORDS
    assert_equal(SENTENCES, stop_words=["fox", "straße", "not there"], ngram_range=(1, 2))


def test_lone_surrogates_separate_words():
    assert_equal(["ab\ud800cd \udfffef", "\ud83d"])
    letters = HashingVectorizer(analyzer="char", ngram_range=(1, 1)).transform(["a\ud800"])
    assert letters.nnz == 2  # where scikit-learn raises


def test_sublinear_counts_are_those_of_the_tfidf_transformer():
    counts = Theirs(alternate_sign=False, norm=None).transform(SENTENCES)
    expected = TfidfTransformer(use_idf=False, sublinear_tf=True).fit_transform(counts)
    found = HashingVectorizer(alternate_sign=False, sublinear_tf=True).transform(SENTENCES)
    assert np.array_equal(found.indices, expected.indices)
    assert_close(found.data, expected.data, rtol=1e-14)


@pytest.mark.parametrize("make", [list, tuple, iter, lambda x: np.array(x, object), np.array])
def test_containers_of_texts_are_accepted(make):
    documents = [text for text in SENTENCES if not text.endswith("\x00")]
    expected = HashingVectorizer().transform(documents)
    assert (HashingVectorizer().transform(make(documents)) != expected).nnz == 0


def test_bytes_of_utf8_are_texts():
    documents = [text.encode() for text in SENTENCES]
    assert_equal(documents)
    assert_equal(["Öl".encode("latin-1")], encoding="latin-1")
    assert_equal([b"ab \xff cd"], decode_error="ignore")
    with pytest.raises(ValueError, match="document 1 is not valid UTF-8"):
        HashingVectorizer().transform([b"fine", b"\xff"])


def test_columns_of_pandas_polars_and_arrow_are_texts():
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    expected = HashingVectorizer().transform(SENTENCES)
    halves = pa.chunked_array([SENTENCES[:5], SENTENCES[5:]])
    columns = [
        pd.Series(SENTENCES),
        pd.Series(SENTENCES, dtype="category"),
        pl.Series(SENTENCES),
        pa.array(SENTENCES),
        halves,
        pa.array(["cut off", *SENTENCES])[1:],
        pa.array(SENTENCES).dictionary_encode(),
    ]
    for column in columns:
        assert (HashingVectorizer().transform(column) != expected).nnz == 0, type(column)
    stripped = HashingVectorizer(strip_accents="unicode")
    assert (stripped.transform(halves) != stripped.transform(SENTENCES)).nnz == 0
    for column in (pl.Series(["a", None]), pa.array(["a", None]), pd.Series(["a", None])):
        with pytest.raises(ValueError, match="document 1 is"):
            HashingVectorizer().transform(column)


@pytest.mark.parametrize("threads", [2, 5])
def test_rows_do_not_depend_on_threads(threads):
    documents = list(mixed(2, 1000))
    one = HashingVectorizer(idf=True, keep_names=True)
    some = HashingVectorizer(idf=True, keep_names=True, n_jobs=threads)
    for each in (one, some):
        each.partial_fit(documents[:500])
    rows = [each.partial_fit_transform(documents[500:]) for each in (one, some)]
    assert np.array_equal(rows[0].data, rows[1].data)
    assert np.array_equal(rows[0].indices, rows[1].indices)
    assert one.names_ == some.names_
    assert (one.transform(documents) != some.transform(documents)).nnz == 0


# -- document frequencies ---------------------------------------------------------------------


def by_hand(documents, forgetting=0.0, fewest=0, most=1.0):
    """Compute the same rows in plain Python, one document at a time."""
    counts = HashingVectorizer(norm=None, alternate_sign=False)
    with_word, total = {}, 0.0
    for text in documents:
        row = counts.transform([text])
        total = total * (1.0 - forgetting) + 1.0
        with_word = {j: seen * (1.0 - forgetting) for j, seen in with_word.items()}
        for j in row.indices:
            with_word[j] = with_word.get(j, 0.0) + 1.0
        kept = [
            (j, v * (1.0 + np.log((1.0 + total) / (1.0 + with_word[j]))))
            for j, v in zip(row.indices, row.data, strict=True)
            if with_word[j] >= fewest and with_word[j] <= max(most * total, 1.0)
        ]
        size = np.sqrt(sum(v * v for _, v in kept)) or 1.0
        yield {j: v / size for j, v in kept}


@pytest.mark.parametrize(
    "options",
    [{}, {"forgetting": 0.05}, {"max_df": 0.5}, {"min_df": 2}, {"min_df": 2, "max_df": 0.6}],
    ids=str,
)
def test_idf_counts_each_document_before_its_row(options):
    documents = [" ".join(text.split()[:9]) for text in mixed(3, 200)]
    expected_rows = by_hand(
        documents,
        options.get("forgetting", 0.0),
        options.get("min_df", 0),
        options.get("max_df", 1.0),
    )
    made = HashingVectorizer(idf=True, alternate_sign=False, **options)
    rows = made.partial_fit_transform(documents)
    for i, expected in enumerate(expected_rows):
        row = rows[i]
        assert sorted(row.indices) == sorted(expected)
        assert_close(row.data, [expected[j] for j in row.indices], rtol=1e-12)


@pytest.mark.parametrize("forgetting", [0.0, 0.01, 0.9])
def test_idf_is_chunk_invariant(forgetting):
    documents, rng = list(mixed(4)), random.Random(0)
    options = {"idf": True, "max_df": 0.7, "forgetting": forgetting, "keep_names": 100}
    whole, cut = HashingVectorizer(**options), HashingVectorizer(**options)
    expected = whole.partial_fit_transform(documents)
    parts, start = [], 0
    while start < len(documents):
        end = start + rng.randrange(1, 60)
        parts.append(cut.partial_fit_transform(documents[start:end]))
        if rng.random() < 0.3:
            cut = pickle.loads(pickle.dumps(cut))
        start = end
    assert np.array_equal(np.concatenate([part.data for part in parts]), expected.data)
    assert (cut.transform(documents) != whole.transform(documents)).nnz == 0


def test_fit_restarts_and_transform_counts_nothing():
    made = HashingVectorizer(idf=True).partial_fit(SENTENCES)
    before = made.transform(SENTENCES)
    assert (made.transform(SENTENCES) != before).nnz == 0
    fresh = HashingVectorizer(idf=True).fit(SENTENCES[:3])
    assert (made.fit(SENTENCES[:3]).transform(SENTENCES) != fresh.transform(SENTENCES)).nnz == 0


def test_rejected_call_changes_nothing():
    made = HashingVectorizer(idf=True, keep_names=True, max_df=0.9).fit(SENTENCES)
    before, names = made.transform(SENTENCES), made.names_
    for bad in (None, 3.5, ["text"], float("nan")):
        with pytest.raises(ValueError, match=r"document 2 is .*; expected a string"):
            made.partial_fit(["new words", "more", bad, "others"])
    with pytest.raises(ValueError, match="one string"):
        made.partial_fit("a text")
    assert (made.transform(SENTENCES) != before).nnz == 0
    assert made.names_ == names


# -- names ------------------------------------------------------------------------------------


def test_names_show_words_that_share_a_column():
    made = HashingVectorizer(n_features=4, keep_names=True).partial_fit(["one two three four five"])
    assert sum(len(words) for words in made.names_.values()) == 5
    assert max(len(words) for words in made.names_.values()) > 1
    for column, words in made.names_.items():
        for word, count in words:
            assert count == 1
            assert HashingVectorizer(n_features=4).transform([word]).indices.tolist() == [column]


def test_most_frequent_names_are_kept():
    made = HashingVectorizer(keep_names=10)
    for i in range(50):
        made.partial_fit([f"often always rare{i} seldom{i}"])
    names = {word for words in made.names_.values() for word, _ in words}
    assert {"often", "always"} <= names
    assert len(names) <= 12


# -- parameters -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"token_pattern": "[a-z]+"}, "token_pattern"),
        ({"analyzer": "words"}, "analyzer='words'"),
        ({"ngram_range": (2, 1)}, "ngram_range"),
        ({"n_features": 0}, "n_features=0"),
        ({"n_features": 2**31}, "n_features"),
        ({"norm": "max"}, "norm='max'"),
        ({"stop_words": "german"}, "stop_words='german'"),
        ({"stop_words": [1]}, "stop_words holds 1"),
        ({"strip_accents": "all"}, "strip_accents"),
        ({"max_df": 1.5}, "max_df=1.5"),
        ({"min_df": -1}, "min_df=-1"),
        ({"forgetting": 1.0}, "forgetting=1.0"),
        ({"idf": "smooth"}, "idf='smooth'"),
        ({"tokenizer": str.split}, "tokenizer"),
        ({"dtype": int}, "dtype"),
    ],
    ids=str,
)
def test_invalid_parameters_raise(options, said):
    with pytest.raises(ValueError, match=said):
        HashingVectorizer(**options).transform(["text"])


def test_inconsistent_state_is_rejected():
    made = HashingVectorizer(idf=True, keep_names=True).fit(SENTENCES)
    state = made._core.state()
    for name, wrong in [
        ("documents_0", np.array([-1.0, 1.0])),
        ("with_0", state["with_0"] + 100.0),
        ("name_ends", state["name_ends"][::-1].copy()),
        ("name_counts", state["name_counts"][:-1]),
    ]:
        with pytest.raises(ValueError, match="of the vectoriser"):
            made._core.load_state({**state, name: wrong}, 100)
    with pytest.raises(KeyError, match="with_0"):
        made._core.load_state({k: v for k, v in state.items() if k != "with_0"}, 100)
    assert np.array_equal(made._core.state()["with_0"], state["with_0"])


def test_column_is_the_hash_of_the_name():
    data = np.frombuffer(b"helloworld", np.uint8)
    hashes = _core.murmur3(data, np.array([0, 5, 10, 10]))
    assert hashes.tolist() == [613153351, -74040069, 0]
