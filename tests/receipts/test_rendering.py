from __future__ import annotations

import time
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from verification_pipeline.receipts.rendering import document_html, harmless

ALLOWED = {
    *("p", "em", "strong", "s", "li", "ul", "ol", "h3", "h4", "h5", "h6", "blockquote", "pre", "code", "a", "br", "hr"),
    *("table", "thead", "tr", "th", "td", "div", "span"),
}


class Checked(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.words = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED
        for name, value in attrs:
            assert name in {"href", "rel", "target", "start", "class"}
            assert name != "href" or (value or "").lower().startswith(("http://", "https://"))

    def handle_data(self, data: str) -> None:
        self.words += data


FRAGMENTS = st.sampled_from(
    [
        *("<script>", "</p>", "<img src=x onerror=y>", "[a](", "javascript:x)", 'https://a.example/")', "![", "](x)"),
        *(
            "`",
            "```\n",
            "**",
            "_",
            "~~",
            "\n",
            "\n\n",
            "# ",
            "> ",
            "- ",
            "1. ",
            "| a | b |\n|--|--|\n",
            "[^1]",
            "[^1]: ",
        ),
        *("[[", "]]", "$", "---\n", "&lt;", "&", '"', "'", "\\", "\u202e", "\x00", "\U000f0000", "0\U000f0001", "<!--"),
        *("words ", "é", "潮", "[1]", "\t", "<a href=x>", "<https://b.example>", "[x]: javascript:y\n", "[^1]: "),
    ]
)


@settings(deadline=None)
@given(st.lists(FRAGMENTS, max_size=30).map("".join))
def test_no_document_makes_any_other_element_or_address(text: str):
    Checked(str(document_html(text, [])))


@settings(deadline=None)
@given(st.lists(FRAGMENTS, max_size=20).map("".join), st.data())
def test_pieces_appear_once_each_or_not_at_all(text: str, data: st.DataObject):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    html = str(document_html(text, [(start, end, Markup("<span>#piece#</span>"))]))
    Checked(html)
    assert html.count("#piece#") <= 1


def test_markers_of_every_style_become_their_pieces():
    text = "A [1], b[^2], c [[note|x]], d [3](https://a.example), e 【4】, f<sup>5</sup>, **g [6]**.\n\n[^2]: Note."
    marks = ["[1]", "[^2]", "[[note|x]]", "[3](https://a.example)", "【4】", "5", "[6]"]
    pieces = [(text.index(m), text.index(m) + len(m), Markup(f"<span>{n}</span>")) for n, m in enumerate(marks)]
    assert str(document_html(text, pieces)).startswith(
        "<p>A <span>0</span>, b<span>1</span>, c <span>2</span>, d <span>3</span>, e <span>4</span>, "
        "f<span>5</span>, <strong>g <span>6</span></strong>.</p>"
    )


def test_a_marker_inside_a_link_follows_it():
    text = "See [the log [1] of tides](https://a.example)."
    start = text.index("[1]")
    assert str(document_html(text, [(start, start + 3, Markup("<span>1</span>"))])) == (
        '<p>See <a href="https://a.example" rel="noopener noreferrer nofollow" target="_blank">the log  of tides</a>'
        "<span>1</span>.</p>\n"
    )


def test_blocks():
    html = str(
        document_html(
            "---\na: b\n---\n# T\n\n3. x\n\n| a |\n|---|\n| 1 |\n\n```py\nx<1\n```\n\n![alt](https://a.example/p.png)\n",
            [],
        )
    )
    assert html == (
        "<h3>T</h3>\n"
        '<ol start="3">\n<li>x</li>\n</ol>\n'
        "<table>\n<thead><tr><th>a</th></tr></thead>\n<tr><td>1</td></tr>\n</table>\n"
        "<pre><code>x&lt;1\n</code></pre>\n"
        "<p>[image: https://a.example/p.png alt]</p>\n"
    )


def test_controls_are_shown_and_not_obeyed():
    assert harmless("a\x1b[2J\u202eb\nc\td\x85") == "a\ufffd[2J\ufffdb\nc\td\ufffd"


@pytest.mark.parametrize("unit", ["[1] ", "> ", "- ", "**", "[", "<b>", "`", "| a "])
def test_hostile_repetition_stays_linear(unit: str):
    text = unit * 50_000
    pieces = [(at, at + 3, Markup("<span>1</span>")) for at in range(0, len(text) - 3, 4)] if unit == "[1] " else []
    started = time.process_time()
    document_html(text, pieces)
    assert time.process_time() - started < 5
