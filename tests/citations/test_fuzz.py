"""A small share of `tests/reliability/fuzz_extraction.py`, on documents made here, and the faults that it found."""

from __future__ import annotations

import pytest

from tests.reliability.fuzz_extraction import cited, faults, fuzz

from .conftest import LIST

_DOCUMENTS = [
    "# Bees\n\nBees came to 12 plots [1]. Ants left.[2] While it rained [3], moths flew [4].\n\n- Wasps [[s5]]\n- Flies"
    " [6](https://a.example/1)\n\n| a | b |\n|---|---|\n| c [6] | d [7] |\n\n> Said so.[^n]\n\n[^n]: See p. 8" + LIST,
    "The kiln reached $900 (Alder, 2011), `x[1]` or\n[[2]](https://a.example/2). It cooled by 5 %【3】; see [notes"
    " [4]](https://a.example/9).\n\n## References\n\n- Alder, A. (2011). Kiln notes. https://a.example/3\n",
    "窑炉在2011年达到九百度[1]。随后冷却[2][3]。\n\n参考文献\n[1] 标题。https://a.example/1\n[2] 标题。https://a.example/2\n",
    "مرحبا بالعالم [1]، ثم وداعا [2].\n\nПечь остыла¹ на 5 градусов.² See turn0search1, \\[3\\].\n\n1. A <sup>4</sup>",
]


def test_mutated_documents_lose_nothing() -> None:
    counts, found = fuzz(_DOCUMENTS, 400, "unit")
    assert not found
    assert counts["inputs"] == 400
    assert min(counts["bound"], counts["dangling"], counts["not-a-citation"], counts["unsupported-style"]) > 20


@pytest.mark.parametrize(
    ("text", "markers"),
    [
        ("See [notes [3]](https://b.example/x).", ["[3]"]),
        ("So [【2】] and 【[5]】 say.", ["【2】", "[5]"]),
        ("So [[1](https://a.example/1), [2](https://a.example/2)] say.", ["[1](https://a.example/1)", "[2](https://a.example/2)"]),
        ("So ［[3]］ or <a title='[1]'>it</a> say.", ["[3]"]),
        ("Lines 【9–4†L1】 say.", ["【9–4†L1】"]),
        ("Read [[the notes]](https://b.example/x).", []),
        ("Read [3`]`], `[1]` and ![[1]](x_(y_[2])).", []),
        ("Read [x](https://b.example/a_(b_[1])) or [y](<a [2] b>).", []),
    ],
)  # fmt: skip
def test_brackets_inside_each_other(text: str, markers: list[str]) -> None:
    citations = cited(text, "unit")
    assert [row.text for row in citations.markers] == markers
    assert not list(faults(text, citations))
