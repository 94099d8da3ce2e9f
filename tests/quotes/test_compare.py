"""Where a quote stands in a source: what is passed over without being compared could not have held it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from verification_pipeline.config import Quotes
from verification_pipeline.quotes import compare
from verification_pipeline.quotes.compare import Searchable, Shelf, find
from verification_pipeline.quotes.nearest import word_edits
from verification_pipeline.quotes.quotation import Quotation
from verification_pipeline.quotes.spans import size_in_words
from verification_pipeline.text.index import IndexedText, WordIndex

SETTINGS = Quotes()
_TOKENS = st.sampled_from(
    [
        *("the", "Old", "pipe-\nline", "pipeline", "fi\u00adne", "ﬁne", "<i>red</i>", "red", "[12]", "[a](b)", "not"),
        *(
            "“ferry”",
            "café",
            "cafe\u0301",
            "5",
            "&amp;",
            "港口",
            "*ran*",
            "[sic]",
            "[T]he",
            "it’s",
            "it's",
            "\n\n",
            ",",
        ),
        *("—", "…"),
    ]
)


@given(st.lists(_TOKENS, max_size=30).map(" ".join), st.lists(_TOKENS, min_size=3, max_size=8).map(" ".join))
def test_no_source_that_holds_a_quote_is_passed_over(around: str, quoted: str) -> None:
    source = Searchable(IndexedText("", f"{around} {quoted} {around}"))
    quotation = Quotation.parse(quoted)
    unfiltered = compare._in_windows(quotation, source, SETTINGS, near=True)
    if quotation.readings and unfiltered is not None and unfiltered.distance == 0:
        assert find(quotation, source, SETTINGS, near=False) is not None


@given(st.lists(st.lists(_TOKENS, max_size=9).map(" ".join), max_size=6), st.lists(_TOKENS, max_size=3).map(" ".join))
def test_a_shelf_names_every_source_that_holds_a_quote(texts: list[str], quoted: str) -> None:
    shelf = Shelf({str(k): Searchable(IndexedText("", text)) for k, text in enumerate(texts)})
    quotation = Quotation.parse(quoted)
    if quotation.readings:
        holders = {key for key, one in shelf.sources.items() if find(quotation, one, SETTINGS, near=False)}
        assert holders <= shelf.may_hold(quotation)


def test_a_shelf_leaves_out_sources_without_the_letters_of_a_quote() -> None:
    texts = {
        "a": "The old mill burned.",
        "b": "An old-mill burn",
        "c": "<b>tag</b>",
        "d": "",
        "e": "old mill, old mill",
    }
    shelf = Shelf({key: Searchable(IndexedText(key, text)) for key, text in texts.items()})
    assert shelf.may_hold(Quotation.parse("old mill")) == {"a", "b", "c", "e"}
    assert shelf.may_hold(Quotation.parse("mill old")) == {"c", "e"}  # a stop between the words is no letter
    assert shelf.may_hold(Quotation.parse("港口")) == set(texts)


@given(st.text(st.characters(max_codepoint=127)))
def test_the_size_of_a_quote_is_its_words(words: str) -> None:
    assert size_in_words(words, SETTINGS) == len(WordIndex.build(words))


@given(st.lists(st.sampled_from(["a b", "a c", "d"]), min_size=70, max_size=200).map(" ".join))
def test_every_place_of_a_run_of_words_is_found(text: str) -> None:
    quotation = Quotation.parse("d a b")
    ((first, grams),) = quotation.grams
    words = text.split()
    wanted = [k for k in range(len(words)) if words[k : k + 3] == ["d", "a", "b"]]
    assert Searchable(IndexedText("", text)).places(grams, first) == wanted[: compare._COMMON]


@given(st.lists(st.sampled_from(["a", "b", "-5", "don't", "港口", "."]), max_size=9).map(" ".join), st.data())
def test_edits_turn_the_source_into_the_quote(source: str, data: st.DataObject) -> None:
    words = source.split()
    k = data.draw(st.integers(0, len(words)))
    quoted = " ".join([*words[:k], "new", *words[k:]])
    assert word_edits(quoted, source) == ["“new” added"]
    assert word_edits(source, quoted) == ["“new” left out"]
    assert word_edits(source, source) == []
