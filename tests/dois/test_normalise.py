from __future__ import annotations

import csv
import json
import time
from html import escape
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verification_pipeline.dois.normalise import (
    arxiv_doi,
    arxiv_id_of,
    base_doi,
    doi_url,
    find_arxiv_ids,
    find_dois,
    find_pmids,
    loose_key,
    normalise_doi,
    normalise_pmid,
)


def dois(text: str) -> list[str]:
    return list(dict.fromkeys(found.doi for found in find_dois(text)))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("10.5555/ABC.9", "10.5555/abc.9"),
        ("https://doi.org/10.5555/ABC.9", "10.5555/abc.9"),
        ("HTTP://DX.DOI.ORG/10.5555/abc", "10.5555/abc"),
        ("urn:doi:10.5555/abc", "10.5555/abc"),
        ("info:doi/10.5555/abc", "10.5555/abc"),
        ("10.5555%2FS0000-1111%2897%2911096-0", "10.5555/s0000-1111(97)11096-0"),
        (
            "10.1002/1096-9128(2000)12:6%3C375::AID-X480%3E3.0.CO;2-M",
            "10.1002/1096-9128(2000)12:6<375::aid-x480>3.0.co;2-m",
        ),
        ("10.5555/a\\_b\\&c", "10.5555/a_b&c"),
        ("10.5555/S0140-6736\\(97\\)11096-0", "10.5555/s0140-6736(97)11096-0"),
        ("xx10.5555/978-3-030", "10.5555/978-3-030"),
        ("10.1101/2020.01.30.1v2", "10.1101/2020.01.30.1v2"),
        ("10.5555.12/abc", "10.5555.12/abc"),
        ("10.5555/pre/v1", "10.5555/pre/v1"),
        ("10.5555/86[813:ER]2.0.CO;2", "10.5555/86[813:er]2.0.co;2"),
        ("Unavailable", None),
        ("unavailable", None),
        ("0", None),
        ("", None),
        ("10/abcde", None),
        ("10.1/x", None),
        ("10.5555/", None),
        ("10.5555/...", None),
    ],
)
def test_a_field_in_normal_form(raw: str, expected: str | None) -> None:
    assert normalise_doi(raw) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See (10.5555/s(97)1-0).", ["10.5555/s(97)1-0"]),
        ("([doi](https://doi.org/10.5555/s(97)1-0)).", ["10.5555/s(97)1-0"]),
        ("<https://doi.org/10.5555/a>", ["10.5555/a"]),
        ('<a href="https://doi.org/10.5555/a">10.5555/a</a>', ["10.5555/a"]),
        ("10.5555/a<br>10.5555/b", ["10.5555/a", "10.5555/b"]),
        ("10.5555/12&lt;107::X&gt;3.0.CO;2-Y.", ["10.5555/12<107::x>3.0.co;2-y"]),
        ("https://example.org/doi/full/10.5555/a.1/full?x=1#top", ["10.5555/a.1"]),
        ("https://example.org/doi/pdf/10.5555/a.1.pdf", ["10.5555/a.1"]),
        ("https://example.org/article?id=10.5555/j.0064723&type=printable", ["10.5555/j.0064723"]),
        ("https://example.org/r?to=https%3A%2F%2Fdoi.org%2F10.5555%2Fa.1&from=x", ["10.5555/a.1"]),
        ("https://www.biorxiv.org/content/10.1101/2020.01.01.900001v2.full.pdf", ["10.1101/2020.01.01.900001"]),
        ("10.5555/a,10.5555/b; 10.5555/c & 10.5555/d", ["10.5555/a", "10.5555/b", "10.5555/c", "10.5555/d"]),
        ("10.5555/a;https://doi.org/10.5555/b", ["10.5555/a", "10.5555/b"]),
        ("doi:10.5555/a?utm_source=letter, 10.5555/b", ["10.5555/a", "10.5555/b"]),
        ('{"doi": "10.5555/a", "x": 1} doi = {10.5555/b},', ["10.5555/a", "10.5555/b"]),
        ("**10.5555/a** _10.5555/b_ ~10.5555/c~", ["10.5555/a", "10.5555/b", "10.5555/c"]),
        ("10.5555/a[^3] 10.5555/b[12] 10.5555/c's", ["10.5555/a", "10.5555/b", "10.5555/c"]),
        ("“10.5555/a,” «10.5555/b»", ["10.5555/a", "10.5555/b"]),
        ("参见10.5555/a。DOI：10.5555/b，另见", ["10.5555/a", "10.5555/b"]),
        ("10.5555/journal.\u200bpone.1 10.5555/x\u00ady", ["10.5555/journal.pone.1", "10.5555/xy"]),
        ("10.5555/s00125–019–4893–3", ["10.5555/s00125-019-4893-3"]),
        ("10.5555/a—which nobody read", ["10.5555/a"]),
        ("| 10.5555/a|10.5555/b |", ["10.5555/a", "10.5555/b"]),
        ("10.5555/ja047156+\n", ["10.5555/ja047156+"]),
        ("version 10.0.0/2, see §10.1/3, 310.5555/x and 1.10.5555/x", []),
    ],
)
def test_extraction(text: str, expected: list[str]) -> None:
    assert dois(text) == expected
    assert all(text[found.start : found.end] == found.raw for found in find_dois(text))


SURROUNDINGS = {
    "bare": lambda doi: f"see {doi} here",
    "bold": lambda doi: f"**{doi}**",
    "parentheses": lambda doi: f"(see {doi}).",
    "markdown link": lambda doi: f"[study](https://doi.org/{doi}), and",
    "percent-encoded": lambda doi: f"https://doi.org/{quote(doi, safe='')} says",
    "full stop": lambda doi: f"as in {doi}.",
    "autolink": lambda doi: f"<https://doi.org/{doi}>",
    "table": lambda doi: f"|{doi}|x|",
    "quotation marks": lambda doi: f"“{doi},”",
    "html": lambda doi: f'<a href="https://doi.org/{escape(doi)}">paper</a>',
    "code": lambda doi: f"`{doi}`",
    "list": lambda doi: f"{doi};10.5555/next",
}


@given(
    st.builds(
        "10.{}/{}".format,
        st.integers(1000, 999_999_999),
        st.from_regex(r"[a-z0-9]([a-z0-9./_:-]?[a-z0-9(<]?[a-z0-9]){0,12}", fullmatch=True),
    ).filter(lambda doi: "<" not in doi and "(" not in doi)
)
def test_round_trip_of_plain_dois(doi: str) -> None:
    for write in SURROUNDINGS.values():
        assert dois(write(doi))[0] == doi
    assert normalise_doi(doi_url(doi)) == doi
    assert normalise_doi(doi.upper()) == doi


@given(st.text(alphabet="10.5/ab()[]<>&;,%2F\\_^*'\"\u200b—–\n?#", max_size=80))
def test_any_text_is_read_and_slices_exactly(text: str) -> None:
    position = 0
    for found in find_dois(text):
        assert position <= found.start < found.end <= len(text)
        assert text[found.start : found.end] == found.raw
        assert normalise_doi(found.doi) is not None
        position = found.end


@pytest.mark.parametrize(
    "text",
    [
        "10.1234/" * 25_000,
        "10.1234." * 25_000,
        "10.1234/" + "(" * 200_000,
        "10.1234/" + "%41" * 70_000,
        "10.1234/" + "&" * 200_000,
        "10" + "\u200b" * 200_000,
        "pmid" + " " * 200_000,
        "arxiv:" * 40_000,
        "http://" + "a/" * 100_000 + "10.1234/x",
    ],
)
def test_hostile_text_is_linear(text: str) -> None:
    started = time.process_time()
    find_dois(text), find_pmids(text), find_arxiv_ids(text)
    assert time.process_time() - started < 5


def test_version_suffix_has_a_base_only_at_its_servers() -> None:
    assert base_doi("10.1101/2020.01.30.927871v2") == "10.1101/2020.01.30.927871"
    assert base_doi("10.21203/rs.3.rs-1/v1") is None
    assert base_doi("10.5555/dev2") is None


def test_loose_key_ignores_angle_brackets() -> None:
    assert loose_key("10.5555/12:1<1::a>3.0.co;2") == loose_key("10.5555/12:11::a3.0.co;2")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("37476288.0", "37476288"),
        ("0", None),
        ("0.0", None),
        ("", None),
        ("007", "7"),
        ("PMID: 123456", "123456"),
        ("https://pubmed.ncbi.nlm.nih.gov/123456/", "123456"),
        ("https://www.ncbi.nlm.nih.gov/pubmed/123456", "123456"),
        ("PMC123456", None),
        ("https://www.ncbi.nlm.nih.gov/pmc/articles/PMC123456/", None),
        ("1234567890", None),
    ],
)
def test_pubmed_ids(raw: str, expected: str | None) -> None:
    assert normalise_pmid(raw) == expected


def test_arxiv_ids() -> None:
    text = "arXiv:2401.99999v2 and https://arxiv.org/abs/math/9810162, https://arxiv.org/pdf/1706.03762v5.pdf"
    assert [found.value for found in find_arxiv_ids(text)] == ["2401.99999", "math/9810162", "1706.03762"]
    assert arxiv_id_of(arxiv_doi("math/9810162")) == "math/9810162"
    assert arxiv_id_of("10.5555/arxiv.1") is None


def test_shared_cases(shared: Path) -> None:
    cases = json.loads((shared / "retractions" / "doi_cases.json").read_text("utf-8"))
    assert len(cases) == 57
    for case in cases:
        got = normalise_doi(case["input"]) if case["kind"] == "normalise" else dois(case["input"])
        assert got == case["expected"], case


def test_real_dois_come_back_exact_from_every_surrounding(shared: Path) -> None:
    with (shared / "retractions" / "doi_natures.csv").open(encoding="utf-8", newline="") as lines:
        real = [row["doi"] for row in csv.DictReader(lines) if row["doi"].startswith("10.")]
    assert len(real) > 57_000
    sample = real[::23] + [doi for doi in real if not set(doi) <= set("0123456789abcdefghijklmnopqrstuvwxyz./-_")][:500]
    trials = [(doi, name, dois(write(doi))[0:1]) for doi in sample for name, write in SURROUNDINGS.items()]
    missed = [trial for trial in trials if trial[2] != [normalise_doi(trial[0])]]
    assert len(missed) <= len(trials) / 10_000, missed[:5]
