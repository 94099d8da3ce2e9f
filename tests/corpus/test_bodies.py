from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verification_pipeline.corpus import bodies


@pytest.mark.parametrize(
    ("raw", "text", "guessed"),
    [
        (b"plain", "plain", None),
        ("\ufeffMühle\r\nund\rWehr".encode(), "Mühle\nund\nWehr", None),
        ("Mühle".encode("utf-16"), "Mühle", None),
        ("Die Mühle steht über dem Fluß und der Weg führt für Fußgänger dorthin.".encode("latin-1"), None, True),
    ],
)
def test_encodings(raw, text, guessed):
    found, encoding = bodies.decode(raw)
    assert (encoding is not None) == bool(guessed)
    assert found == text if text is not None else "Mühle steht über dem Fluß" in found


@pytest.mark.parametrize("raw", [b"\x00\xff\xfe\x00\xd8\x00\xdc\x00", b"\xff\xfe\x00\xd8\x00", b"%PDF\x00"])
def test_binary_is_no_text(raw):
    with pytest.raises(bodies.UnreadableBody):
        bodies.decode(raw)


@given(st.binary())
def test_any_bytes_are_text_or_a_reason(raw):
    try:
        text, _ = bodies.decode(raw)
    except bodies.UnreadableBody:
        return
    assert "\r" not in text
    text.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "fields", "body"),
    [
        ("---\ntitle: Log [9]\n---\n# Tides", {"title": "Log [9]"}, "# Tides"),
        ("---\n---\nBody", {}, "Body"),
        ("---\ntitle: x\n...\nBody", {"title": "x"}, "Body"),
        ("Body", {}, "Body"),
        ("--- not front matter", {}, "--- not front matter"),
        ("---\n- a list\n---\nBody", {}, "---\n- a list\n---\nBody"),
    ],
)
def test_front_matter(text, fields, body):
    found, start, fault = bodies.front_matter(text)
    assert (found, text[start:], fault) == (fields, body, None)


def test_broken_front_matter_is_reported_and_the_body_is_read():
    found, start, fault = bodies.front_matter("---\ntitle: [\n---\nBody")
    assert found == {}
    assert "not valid YAML" in fault
    assert "---\ntitle: [\n---\nBody"[start:] == "Body"


def test_an_html_document_keeps_citations_notes_and_list():
    html = (
        "<html><head><title>Tides</title></head><body><nav>Menu</nav><h1>Tides</h1>"
        "<p>The wall held.<sup>2</sup> The tide rose <a href='https://example.org/a'>5 m</a> [1].</p>"
        "<ol><li>Tide log. https://example.org/s/1</li></ol></body></html>"
    )
    text = bodies.document_from_html(html)
    for part in ("# Tides", "held.<sup>2</sup>", "[5 m](https://example.org/a) [1].", "1. Tide log."):
        assert part in text


def test_a_source_page_is_its_article():
    article = " ".join(f"The harbour office counted {number} barges at the lower lock." for number in range(30))
    text = bodies.source_from_html(f"<html><body><nav>Home Menu</nav><article><p>{article}</p></article></body></html>")
    assert "counted 7 barges" in text
    assert "Menu" not in text


def test_a_short_page_is_read_whole():
    assert bodies.source_from_html("<html><body><p>The pier is long.</p></body></html>") == "The pier is long."
