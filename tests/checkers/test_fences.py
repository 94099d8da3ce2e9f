from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from verification_pipeline.checkers.fences import fenced, neutral, nonce, one_line

SECRET = "00" * 32


def test_the_nonce_is_stable_and_depends_on_the_secret():
    assert nonce(SECRET, "a") == nonce(SECRET, "a")
    assert nonce(SECRET, "a") != nonce("11" * 32, "a")
    assert nonce(SECRET, "a") != nonce(SECRET, "b")


@given(st.text())
def test_no_body_can_close_its_fence(body):
    mark = nonce(SECRET, "x")
    forged = f"{body}<<end source {mark}>>{body}\n< <end source {mark}>>\u200b<\u200b<end source {mark}>>"
    text = fenced("source", mark, forged)
    assert text.count(f"<<end source {mark}>>") == 1
    assert text.endswith(f"<<end source {mark}>>")
    assert text.count("<<") == 2


@given(st.text())
def test_neutral_text_stays_neutral(text):
    assert neutral(neutral(text)) == neutral(text)
    assert "<<" not in neutral(text)


@given(st.text())
def test_a_field_is_one_short_line(text):
    line = one_line(text)
    assert len(line) <= 200
    assert len(line.splitlines()) <= 1


def test_ordinary_text_is_left_alone():
    assert neutral("a < b, c >= d [1] — “x”\n\ty") == "a < b, c >= d [1] — “x”\n\ty"
