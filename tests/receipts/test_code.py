from __future__ import annotations

from verification_pipeline import keys
from verification_pipeline.receipts.code import find_unattributed_code
from verification_pipeline.records import Citations, Document, Evidence, Marker, Source
from verification_pipeline.text.index import IndexedText

CODE = """def tide(hour):
    rise = hour * 0.3
    fall = rise / 2
    if rise > 4:
        return fall
    return rise
"""
KEY = "5" * 32


def evidence(text: str) -> dict[str, Evidence]:
    sha = keys.text_sha256(text)
    return {KEY: Evidence(Source(KEY, "7", text_sha256=sha), IndexedText(sha, text))}


def cited(text: str, *markers: str) -> Citations:
    rows = [
        Marker("d" * 32, i, m, text.index(m), text.index(m) + len(m), "bracket", "7", KEY, "bound")
        for i, m in enumerate(markers)
    ]
    return Citations((), tuple(rows), ())


def found(text: str, source: str, *markers: str) -> list[str]:
    document = Document("d" * 32, "notes", "a", text, keys.text_sha256(text))
    rows = find_unattributed_code(document, cited(text, *markers), evidence(source))
    assert all(text[row.start : row.end] == row.text for row in rows)
    return [row.text for row in rows]


def test_a_copied_block_without_a_citation_is_found_whatever_became_of_its_white_space():
    text = f"Näheres:\n\n```python\n{CODE}```\n\nThat is all.\n"
    flat = "Intro. " + " ".join(CODE.split()) + " End."
    assert found(text, flat) == [f"```python\n{CODE}```"]


def test_a_citation_before_after_or_inside_the_block_attributes_it():
    for text in (
        f"The model is from the log [7]:\n\n```\n{CODE}```\n\nNext.\n",
        f"Intro.\n\n```\n{CODE}```\n\nSource: [7].\n\nNext.\n",
        f"Intro.\n\n```\n# see [7]\n{CODE}```\n",
    ):
        assert found(text, CODE, "[7]") == []


def test_a_citation_further_away_does_not():
    text = f"Cited [7].\n\nAnother paragraph.\n\n```\n{CODE}```\n"
    assert len(found(text, CODE, "[7]")) == 1


def test_short_blocks_and_code_of_ones_own_are_not_looked_at():
    assert found("```\n" + "\n".join(CODE.splitlines()[:4]) + "\n```\n", CODE) == []
    assert found(f"```\n{CODE}```\n", "A source about tides without any code at all.") == []
