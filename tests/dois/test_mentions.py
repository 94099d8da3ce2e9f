from __future__ import annotations

import time

import pytest

from verification_pipeline import tables
from verification_pipeline.citations.catalogue import SourceCatalogue
from verification_pipeline.citations.extraction import extract
from verification_pipeline.config import Settings
from verification_pipeline.dois.mentions import DoiMention, find_mentions
from verification_pipeline.keys import document_key, source_key, text_sha256
from verification_pipeline.records import Document, Evidence, Source
from verification_pipeline.text.index import IndexedText

KEY = document_key("c", "d")


def source(name: str, **fields: object) -> Source:
    return Source(source_key("c", "d", name), name, "d", **fields)  # type: ignore[arg-type]


def mentions(text: str, *own: Source, bodies: dict[str, str] | None = None) -> list[DoiMention]:
    settings = Settings()
    document = Document(KEY, "c", "d", text, text_sha256(text), language="en")
    by_name = {one.source_id: one for one in own}
    evidence = {
        by_name[name].source_key: Evidence(by_name[name], IndexedText(text_sha256(body), body))
        for name, body in (bodies or {}).items()
    }
    citations = extract(document, own, SourceCatalogue.build(()), settings)
    found = find_mentions(document, citations, own, evidence, settings)
    tables.check("doi_mentions", tables.frame("doi_mentions", found), "test")
    for one in found:
        assert one.start is None or one.doi is None or text[one.start :].startswith(one.raw) or one.raw in text
    return found


def one_work(text: str, *own: Source, bodies: dict[str, str] | None = None) -> DoiMention:
    [found] = mentions(text, *own, bodies=bodies)
    return found


LISTED = "The tide rises [1].\n\n## Sources\n[1] {entry}\n"


@pytest.mark.parametrize(
    ("entry", "fields", "work"),
    [
        (
            "On tides. https://doi.org/10.5555/A.1, accessed in May.",
            {"url": "https://example.org/1"},
            "doi:10.5555/a.1",
        ),
        ("On tides.", {"doi": "10.5555/A.1"}, "doi:10.5555/a.1"),
        ("On tides.", {"url": "https://doi.org/10.5555/A.1"}, "doi:10.5555/a.1"),
        (
            "On tides.",
            {"url": "https://www.biorxiv.org/content/10.1101/2020.01.01.900001v2.full"},
            "doi:10.1101/2020.01.01.900001",
        ),
        ("On tides. PMID: 123", {"url": "https://example.org/1"}, "pmid:123"),
        ("On tides.", {"url": "https://pubmed.ncbi.nlm.nih.gov/123/"}, "pmid:123"),
        ("On tides.", {"pmid": "123.0"}, "pmid:123"),
        ("On tides.", {"pmid": "123", "doi": "10.5555/a.1"}, "doi:10.5555/a.1"),
        ("On tides. https://arxiv.org/abs/2401.00001v3", {}, "arxiv:2401.00001"),
        ("On tides.", {"url": "https://arxiv.org/pdf/2401.00001"}, "arxiv:2401.00001"),
        ("On tides.", {"doi": "Unavailable", "pmid": "0"}, "source:" + source_key("c", "d", "1")),
    ],
)
def test_a_cited_source_is_a_work(entry: str, fields: dict[str, object], work: str) -> None:
    found = one_work(LISTED.format(entry=entry), source("1", title="On tides", **fields))
    assert found.work_id == work
    assert found.cited
    assert found.source_key == source_key("c", "d", "1")


def test_an_entry_without_source_is_a_work_too() -> None:
    text = LISTED.format(entry="On tides. doi:10.5555/a.1.")
    found = one_work(text)
    assert (found.work_id, found.source_key, found.cited) == ("doi:10.5555/a.1", None, True)
    assert found.start is not None
    assert text[found.start : found.start + len(found.raw)] == found.raw == "10.5555/a.1"


def test_an_uncited_own_source_is_a_work_that_nothing_cites() -> None:
    found = mentions("Nothing is cited here.", source("1", doi="10.5555/a.1"))
    assert [(one.work_id, one.cited) for one in found] == [("doi:10.5555/a.1", False)]


def test_a_doi_in_prose_is_cited_and_one_in_code_is_not() -> None:
    text = "As [tides](https://doi.org/10.5555/a(1)2) show.\n\n```\nfetch 10.5555/code.1\n```\n"
    assert [(one.work_id, one.cited) for one in mentions(text)] == [("doi:10.5555/a(1)2", True)]


def test_a_work_cited_in_three_ways_is_one_row() -> None:
    text = "It rises [1], see https://doi.org/10.5555/A.1 too.\n\n## Sources\n[1] On tides. doi:10.5555/a.1\n"
    assert one_work(text, source("1", doi="https://doi.org/10.5555/a.1")).work_id == "doi:10.5555/a.1"


def test_a_sources_own_doi_is_told_from_one_its_text_mentions() -> None:
    text = LISTED.format(entry="On tides.")
    own = "On tides\n\nDOI: 10.5555/own.1\n\nAbstract. Tides rise.\n\nReferences\n1. doi:10.5555/other.1\n"
    news = "A newspaper on tides. The paper (https://doi.org/10.5555/other.1) was discussed widely.\n"
    two = "doi: 10.5555/a\ndoi: 10.5555/b\n"
    assert one_work(text, source("1"), bodies={"1": own}).work_id == "doi:10.5555/own.1"
    assert one_work(text, source("1"), bodies={"1": news}).work_id.startswith("source:")
    assert one_work(text, source("1"), bodies={"1": two}).work_id.startswith("source:")


@pytest.mark.parametrize(
    ("text", "noted"),
    [
        ("The tide rises, a study said that was later retracted [1].", [True]),
        ("The tide rises [1] (retracted 2025).", [True]),
        ("The tide rises [1]. The paper was retracted in 2020.", [True]),
        ("The paper was retracted in 2020. It said that the tide rises [1].", [True]),
        ("The tide rises [1].", [False]),
        ("The tide rises [1]. The paper was never retracted.", [False]),
        ("The roof is a retractable one [1].", [False]),
        ("A retracted study [1] and a later one [2] agree.", [True, False]),
        ("The study [1] was retracted, while [2] stands.", [True, False]),
        ("Studies [1] and [2] were both retracted.", [True, True]),
        ("One says so [1]. A retracted study says more [2].", [False, True]),
        ("One says so [1].\n\nThe paper was retracted, in another paragraph.", [False]),
        ("The study [1] was retracted by the journal, as it says [2].", [True, False]),
    ],
)
def test_the_document_says_so_of_this_work(text: str, noted: list[bool]) -> None:
    listed = "\n\n## Sources\n" + "\n".join(f"[{n}] Title {n}. doi:10.5555/a.{n}" for n, _ in enumerate(noted, start=1))
    own = [source(str(n), title=f"Title {n}") for n, _ in enumerate(noted, start=1)]
    found = mentions(text + listed, *own)
    assert [one.noted_in_document for one in found] == noted
    for one in found:
        assert (one.noted_span is None) != one.noted_in_document
        assert one.noted_span is None or one.noted_span in text


def test_its_entry_says_so() -> None:
    found = one_work(LISTED.format(entry="RETRACTED: On tides. doi:10.5555/a.1"), source("1"))
    assert found.noted_in_document
    plain = one_work(LISTED.format(entry="Retractable roofs. doi:10.5555/a.1"), source("1"))
    assert not plain.noted_in_document


def test_many_citations_are_read_in_linear_time() -> None:
    text = "".join(f"The tide rises [{n}]. " for n in range(1, 3_001))
    listed = "\n\n## Sources\n" + "\n".join(f"[{n}] Title {n}. doi:10.5555/a.{n}" for n in range(1, 3_001))
    assert len(mentions(text + listed)) == 3_000


def test_a_sentence_with_many_citations_and_remarks_is_read_in_linear_time() -> None:
    text = "".join(f"a retracted paper [{n}] held, " for n in range(1, 401))
    listed = "\n\n## Sources\n" + "\n".join(f"[{n}] Title {n}. doi:10.5555/a.{n}" for n in range(1, 401))
    whole = f"{text} end.{listed}"
    document = Document(KEY, "c", "d", whole, text_sha256(whole), language="en")
    citations = extract(document, (), SourceCatalogue.build(()), Settings())
    started = time.process_time()
    found = find_mentions(document, citations, (), {}, Settings())
    assert time.process_time() - started < 5
    assert all(one.noted_in_document for one in found)


def test_a_work_named_in_prose_is_told_from_the_citation_beside_it() -> None:
    text = "The paper (doi:10.5555/a.1) was retracted, as others say [2].\n\n## Sources\n[2] X. doi:10.5555/b.2\n"
    assert {one.doi: one.noted_in_document for one in mentions(text)} == {"10.5555/a.1": True, "10.5555/b.2": False}
