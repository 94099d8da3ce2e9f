"""Which source a quotation cites."""

from __future__ import annotations

from tests.builders import DOCUMENT, document, evidence, pair
from verification_pipeline.citations import extract
from verification_pipeline.config import Quotes, Settings
from verification_pipeline.quotes import QuoteRow, check_quotes
from verification_pipeline.records import Citations

QUOTE = "the ferry runs all night and on Sundays"
HOLDS = evidence("1", f"The log says {QUOTE} too.")
OTHER = evidence("2", "Pasture covers the valley floor.")
OWN = {one.source.source_key: one for one in (HOLDS, OTHER)}


def _with_pairs(text: str, *claims: tuple[str, str | None]) -> QuoteRow:
    """The row of the one quote of a document whose pairs are (claim, source key)."""
    pairs = tuple(
        pair(
            claim,
            index=k,
            source_key=key,
            status="bound" if key else "dangling",
            claim_spans=((text.index(claim), text.index(claim) + len(claim)),),
            sentence_start=0,
            sentence_end=len(text),
        )
        for k, (claim, key) in enumerate(claims)
    )
    (row,) = check_quotes(document(text), Citations((), (), pairs, ((0, len(text)),)), OWN, (), Quotes())
    return row


def test_a_quote_cites_what_its_claim_cites() -> None:
    text = f'"{QUOTE}," the log says.'
    assert _with_pairs(text, (text, HOLDS.source.source_key)).status == "verified"
    row = _with_pairs(text, (text, OTHER.source.source_key))
    assert (row.status, row.source_key) == ("not-found", OTHER.source.source_key)
    assert row.found_in_source_key == HOLDS.source.source_key


def test_a_clause_decides_before_its_sentence() -> None:
    text = f'The valley is green, while "{QUOTE}" in the log.'
    clauses = ("The valley is green", OTHER.source.source_key), (f'while "{QUOTE}" in the log', HOLDS.source.source_key)
    assert _with_pairs(text, *clauses).status == "verified"


def test_a_dangling_claim_is_a_citation_without_source() -> None:
    text = f'"{QUOTE}," the log says.'
    row = _with_pairs(text, (text, None))
    assert (row.status, row.found_in_source_key) == ("not-found", HOLDS.source.source_key)


def test_extracted_citations_bind_quotes() -> None:
    """The markers and pairs of the citation stage: attached, at the sentence's end, around a block."""
    text = (
        f'It says "{QUOTE}" [1]. "{QUOTE}," it says on page four of the log [2].\n\n'
        f"The log says [1]:\n\n> {QUOTE[0].upper() + QUOTE[1:]}.\n\n"
        "## Sources\n\n[1] Log. https://example.org/1\n[2] Valley. https://example.org/2\n"
    )
    sources = [
        evidence("1", HOLDS.body.text, url="https://example.org/1", n=1),
        evidence("2", OTHER.body.text, url="https://example.org/2", n=2),
    ]
    own = {one.source.source_key: one for one in sources}
    made = document(text)
    citations = extract(made, [one.source for one in sources], None, Settings())
    rows = check_quotes(made, citations, own, (), Quotes())
    assert [row.status for row in rows] == ["verified", "not-found", "verified"]
    assert {row.document_key for row in rows} == {DOCUMENT}
