"""The page of a receipt as a reader uses it, in a real browser."""

from __future__ import annotations

import io
import os
import time
from pathlib import Path

import orjson
import pypdfium2
import pytest

from tests.receipts.test_page import HOSTILE
from tests.support import browser
from tests.support.archive import Archive, run_info, storage_archive
from verification_pipeline import tables
from verification_pipeline.config import Settings
from verification_pipeline.receipts import assemble
from verification_pipeline.receipts.page import render

pytestmark = pytest.mark.skipif(browser.PATH is None, reason="no Chromium on this machine")

USABLE_SECONDS = 2.0


def page_of(archive: Archive, document_id: str, file: Path) -> Path:
    rows = assemble(archive.inputs(), run_info(), Settings(), tables.empty("receipts"))["receipt"]
    receipt = next(one for one in map(orjson.loads, rows) if one["document_id"] == document_id)
    file.write_text(render(receipt, archive.texts.get), "utf-8")
    return file


def long_archive(pairs: int) -> Archive:
    archive = Archive()
    text = "".join(f"Line {n} reported a rise of {n} percent [1].\n\n" for n in range(pairs))
    key = archive.document("long", text, title="Long")
    body = "".join(f"Line {n} saw a rise of {n} percent.\n" for n in range(pairs))
    source = archive.source(key, "1", body, n=1, title="All lines")
    sha = next(row["text_sha256"] for row in archive.rows["sources"])
    at = said = 0
    for n in range(pairs):
        claim, words = f"Line {n} reported a rise of {n} percent", f"Line {n} saw a rise of {n} percent."
        at, said = text.index(claim, at), body.index(words, said)
        identity, end = f"{n:032x}", at + len(claim)
        place = {"pair_id": identity, "document_key": key, "source_key": source, "marker": "[1]", "target": "1"}
        archive.add("pairs", **place, pair_index=n, sentence=text[at : end + 5], sentence_start=at,
                    sentence_end=end + 5, claim=claim, status="bound")  # fmt: skip
        archive.add("markers", document_key=key, marker_index=n, pair_id=identity, text="[1]", start=end + 1,
                    end=end + 4, target="1", source_key=source, status="bound")  # fmt: skip
        archive.add("triage", pair_id=identity, document_key=key, outcome="needs-checker")
        archive.add("batches", pair_id=identity, document_key=key)
        span = {"evidence_source_key": source, "evidence_text_sha256": sha, "evidence_start": said,
                "evidence_end": said + len(words), "evidence": words}  # fmt: skip
        verdict = "unsupported" if n % 50 == 7 else "supported"
        archive.add(
            "verdicts", pair_id=identity, document_key=key, checked=True, verdict=verdict, checker="embedded", **span
        )
    return archive


@pytest.fixture(scope="module")
def tab():
    with browser.browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def faulty(tmp_path_factory) -> Path:
    return page_of(storage_archive(), "2024-05-01", tmp_path_factory.mktemp("pages") / "faulty.html")


def keep(name: str, picture: bytes) -> None:
    """Leave a picture for people where PAGE_PICTURES says."""
    if folder := os.environ.get("PAGE_PICTURES"):
        (Path(folder) / name).write_bytes(picture)


def shown(tab: browser.Tab, selector: str) -> bool:
    return bool(tab.run(f"document.querySelector('{selector}').checkVisibility()"))


def test_a_citation_tells_what_was_found_on_hover_and_on_focus(tab, faulty):
    tab.open(faulty)
    tip = ".document .cite.is-wrong-source .tip"
    assert not shown(tab, tip)
    tab.hover(".document .cite.is-wrong-source")
    assert shown(tab, tip)
    assert "costs fell to 90 dollars" in tab.run(f"document.querySelector('{tip}').innerText")
    edges = tab.run(f"(r => [r.left, innerWidth - r.right])(document.querySelector('{tip}').getBoundingClientRect())")
    assert min(edges) >= 0
    keep("hover.png", tab.picture())
    tab.leave()
    assert not shown(tab, tip)
    tab.run("document.querySelector('.document .cite.is-wrong-source').focus()")
    assert shown(tab, tip)


def test_a_click_goes_to_the_passage_and_escape_comes_back(tab, faulty):
    tab.open(faulty)
    tab.click(".document .cite.is-wrong-source")
    assert tab.run("location.hash") == "#pair-2"
    assert tab.run("document.querySelector(':target mark').innerText") == "costs fell to 90 dollars"
    keep("passage.png", tab.picture())
    tab.press("Escape")
    assert "is-wrong-source" in tab.run("document.activeElement.className")


def test_the_keys_go_from_citation_to_citation_and_open_one(tab, faulty):
    tab.open(faulty)
    seen = []
    for _ in range(3):
        tab.press("n")
        seen.append(tab.run("document.activeElement.getAttribute('href')"))
    tab.press("p")
    assert tab.run("document.activeElement.getAttribute('href')") == seen[1]
    assert len(set(seen)) == 3
    tab.press("Enter")
    assert tab.run("location.hash") == seen[1]


def test_the_filter_shows_one_verdict_without_script(tab, faulty):
    tab.open(faulty)
    rows = "[...document.querySelectorAll('tr.row')].filter(e => e.checkVisibility()).map(e => e.dataset.state)"
    assert len(tab.run(rows)) == 7
    tab.click("label[for=show-unsupported]")
    assert tab.run(rows) == ["unsupported"]
    keep("filter.png", tab.picture())
    tab.click("label[for=show-all]")
    assert len(tab.run(rows)) == 7


def test_the_dark_scheme_keeps_its_contrast(tab, faulty):
    colours = """
    ['body', '.tag.is-supported', '.tag.is-unsupported', '.tag.is-wrong-source', '.tag.is-not-checked', 'p.meta'].map(
      (s) => [getComputedStyle(document.querySelector(s)), getComputedStyle(document.body)]
    ).map(([c, b]) => [c.color, c.backgroundColor === 'rgba(0, 0, 0, 0)' ? b.backgroundColor : c.backgroundColor])
    """
    for scheme in ("light", "dark"):
        tab.scheme(scheme)
        tab.open(faulty)
        pairs = tab.run(colours)
        assert all(contrast(*pair) >= 4.5 for pair in pairs), (scheme, pairs)
        keep(f"{scheme}.png", tab.picture())
    tab.scheme("light")


def contrast(first: str, second: str) -> float:
    """Contrast of two CSS colours (WCAG 2.2, "contrast ratio")."""
    lights = sorted(map(_luminance, (first, second)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_it_prints_whole(tab, faulty):
    tab.open(faulty)
    pdf = pypdfium2.PdfDocument(io.BytesIO(tab.pdf()))
    text = "".join(page.get_textpage().get_text_range() for page in pdf)
    pdf.close()
    assert "Ship gate" in text
    assert "costs fell to 90 dollars" in text
    assert "Keys:" not in text


def test_a_hostile_page_asks_for_nothing_and_runs_nothing(tab, tmp_path):
    archive = Archive(corpus="<script>c</script>")
    key = archive.document("d", HOSTILE, title="<svg onload=document.title='ran'>")
    source = archive.source(key, "1", "</blockquote><script>document.title='ran'</script>", url="javascript:x")
    archive.graded(archive.pair(key, "text", source), "supported", "</blockquote><script>document.title='ran'</script>")
    page = page_of(archive, "d", tmp_path / "hostile.html")
    tab.requests.clear()
    tab.open(page)
    assert tab.run("document.title").startswith("<svg onload")
    assert tab.run("document.scripts.length") == 1
    assert tab.requests == [page.resolve().as_uri()]


def test_two_thousand_pairs_are_usable_in_two_seconds(tab, tmp_path):
    page = page_of(long_archive(2_000), "long", tmp_path / "long.html")
    tab.open(page)  # once before the clock, so that the browser itself is warm
    started = time.monotonic()
    tab.open(page)
    tab.press("n")
    assert tab.run("document.activeElement.getAttribute('href')") == "#pair-0"
    opened = time.monotonic() - started
    started = time.monotonic()
    tab.click("label[for=show-unsupported]")
    assert tab.run("[...document.querySelectorAll('tr.row')].filter(e => e.checkVisibility()).length") == 40
    filtered = time.monotonic() - started
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    print(f"opened in {opened:.2f} s, filtered in {filtered:.2f} s, load {busy:.1f} a core")
    assert max(opened, filtered) < USABLE_SECONDS * max(1.0, busy)
