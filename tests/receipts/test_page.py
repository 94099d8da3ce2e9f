from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import Any

import orjson
import pytest

from tests.support.archive import Archive, run_info, storage_archive
from verification_pipeline import tables
from verification_pipeline.config import Settings
from verification_pipeline.receipts import assemble
from verification_pipeline.receipts.page import STATES, render

VOID = {"meta", "br", "hr", "input"}


class Page(HTMLParser):
    """The page as a browser reads it: elements with their attributes, text by element, and whether tags balance."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            assert not (tag == "a" and "a" in self.open), "anchors nest"
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)


def pages(archive: Archive) -> dict[str, str]:
    rows = assemble(archive.inputs(), run_info(), Settings(), tables.empty("receipts"))["receipt"]
    receipts = [orjson.loads(text) for text in rows]
    return {receipt["document_id"]: render(receipt, archive.texts.get) for receipt in receipts}


@pytest.fixture(scope="module")
def html() -> str:
    return pages(storage_archive())["2024-05-01"]


def test_the_checklist_stands_before_the_four_tables_and_the_document(html: str):
    order = re.findall(r'<h2 id="([a-z]+)"', html)
    assert order == ["gate", "citations", "quotations", "works", "voices", "document", "passages"]


def test_every_pair_is_a_row_a_chip_and_a_passage(html: str):
    page = Page(html)
    assert not page.open
    chips = [attrs for tag, attrs in page.elements if tag == "a" and (attrs.get("class") or "").startswith("cite ")]
    assert [(chip["class"] or "").removeprefix("cite ").removeprefix("quotation ") for chip in chips] == [
        *("is-supported", "is-unsupported", "is-wrong-source", "is-supported", "is-dangling"),
        *("is-altered", "is-not-checked", "is-not-checked"),
    ]
    ids = {attrs.get("id") for _, attrs in page.elements}
    assert all((chip["href"] or "").removeprefix("#") in ids for chip in chips)
    assert "Installed capacity stood at 42 GW in 2024. The plan" in page.text
    assert all(chip["aria-describedby"] in ids for chip in chips)


def test_the_page_loads_nothing_and_its_policy_names_its_own_script_and_style(html: str):
    page = Page(html)
    assert not [attrs for _, attrs in page.elements if {"src", "srcset", "action", "style"} & attrs.keys()]
    assert {tag for tag, _ in page.elements}.isdisjoint({"img", "link", "iframe", "object", "embed", "form", "base"})
    policy = next(attrs["content"] or "" for tag, attrs in page.elements if attrs.get("http-equiv"))
    assert "default-src 'none'" in policy
    for part in ("style", "script"):
        body = re.search(rf"<{part}>(.*?)</{part}>", html, re.DOTALL)
        assert body is not None
        digest = base64.b64encode(hashlib.sha256(body[1].encode()).digest()).decode()
        assert f"{part}-src 'sha256-{digest}'" in policy
    assert html.count("<script") == 1


HOSTILE = """# T <script>alert(1)</script>

<img src=x onerror=alert(1)> text [1] and <b onclick="x()">bold</b> "><svg onload=x>

![pixel](https://evil.example/p.png) [link](javascript:alert(1)) [ok](https://a.example/?a=1&b="2") [n [1]](https://b.example)

<iframe src="https://evil.example"></iframe>

```html
<script>x</script>
```

| a [1] | b |
|---|---|
| <td onmouseover=x> | [1] |

\u202eoverride\x1b[31m and \U000f00000\U000f0001

- [x] done
- item [1]

[^1]: note
"""


def test_a_hostile_document_runs_and_loads_nothing():
    archive = Archive(corpus="<script>c</script>")
    key = archive.document('"><script>d</script>', HOSTILE, title="<svg onload=x>", language='en"><script>')
    source = archive.source(key, "1", "</blockquote><script>y</script> text", title='"><img src=x>', url="javascript:x")
    start = HOSTILE.index("text")
    pair = archive.pair(key, "text", source)
    archive.graded(pair, "supported", "<script>y</script>", rationale="<img src=x onerror=y>")
    for number, place in enumerate(re.finditer(re.escape("[1]"), HOSTILE[start + 20 :]), start=1):
        at = start + 20 + place.start()
        archive.add(
            "markers",
            document_key=key,
            marker_index=number,
            pair_id=pair,
            text="[1]",
            start=at,
            end=at + 3,
            status="bound",
        )
    (html,) = pages(archive).values()
    page = Page(html)
    assert not page.open
    assert html.count("<script") == 1
    assert {tag for tag, _ in page.elements}.isdisjoint({"img", "svg", "iframe", "td onmouseover"})
    assert not [name for _, attrs in page.elements for name in attrs if name.startswith("on")]
    links = [attrs.get("href") or "" for tag, attrs in page.elements if tag == "a"]
    assert all(link.startswith(("#", "https://a.example", "https://b.example")) for link in links)
    assert sum((attrs.get("class") or "").startswith("cite") for _, attrs in page.elements) == 5
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert "<script>alert(1)</script>" in page.text


def test_markers_that_overlap_are_one_chip_of_the_worst_verdict():
    archive = Archive()
    key = archive.document("a", "It rained [1, 2] all day.")
    for n, verdict in (("1", "supported"), ("2", "unsupported")):
        source = archive.source(key, n, "It rained.")
        pair = archive.pair(key, "It rained", source, marker="[1, 2]")
        archive.graded(pair, verdict, "It rained" if verdict == "supported" else None)
    page = Page(pages(archive)["a"])
    chips = [attrs["class"] for tag, attrs in page.elements if (attrs.get("class") or "").startswith("cite")]
    assert chips == ["cite is-unsupported"]
    assert "[1, 2]✗" in page.text


def test_a_document_without_text_has_its_reason():
    html = pages(storage_archive())["torn"]
    assert "unreadable: not UTF-8" in Page(html).text
    assert 'id="document"' not in html
    assert 'href="#document"' not in html


def test_lost_texts_leave_the_receipt_readable():
    archive = storage_archive()
    rows = assemble(archive.inputs(), run_info(), Settings(), tables.empty("receipts"))["receipt"]
    receipt: dict[str, Any] = next(r for r in map(orjson.loads, rows) if r["state"] == "failed")
    assert "42 GW in 2024" in Page(render(receipt, lambda _: None)).text


def test_every_state_has_its_colour_and_its_filter(html: str):
    for state in STATES:
        assert f".is-{state}" in html
        assert f"#show-{state}:checked" in html


def test_the_same_receipt_is_the_same_page(html: str):
    assert pages(storage_archive())["2024-05-01"] == html


def test_a_quotation_has_its_sign_after_its_words_and_its_edits_with_it(html: str):
    sign = '"✗quotation alteredwill double the grid before 2030the decade ends → 2030'
    assert f"before the decade ends{sign}" in Page(html).text


def test_a_quotation_that_ends_inside_a_marker_has_no_sign():
    archive = Archive()
    key = archive.document("a", "It said so [1] here.")
    source = archive.source(key, "1", "It said so.")
    archive.graded(archive.pair(key, "It said so", source), "supported", "It said so")
    archive.quote(key, "said so [1", source, "not-found")
    page = Page(pages(archive)["a"])
    assert "[1]✓" in page.text
    assert "∅" not in page.text
