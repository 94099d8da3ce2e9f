"""From what a document cites to the works it cites: rows of `doi_mentions`.

A work comes from a source the document binds or owns, from an entry of its reference list, or from an identifier in
its prose. A source's own identifiers stand in its metadata, its address, its entry, or alone on a line at the head of
its text; what its text merely mentions is not it. Whether the work stands is asked in `sweep`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from verification_pipeline.config import Acknowledgement, Settings
from verification_pipeline.dois.acknowledgement import may_remark, remarks
from verification_pipeline.dois.normalise import (
    FoundDoi,
    FoundId,
    find_arxiv_ids,
    find_dois,
    find_pmids,
    normalise_doi,
    normalise_pmid,
)
from verification_pipeline.records import Citations, Document, Evidence, Marker, Reference, Source
from verification_pipeline.text.addresses import work_of

_HEAD = 1_000
"""Code points at the head of a source's text in which it may state its own DOI."""

_OWN_DOI_LINE = re.compile(
    r"(?im)^[ \t>*_#]{0,8}(?:doi[: \t]{1,3}|https?://(?:dx\.)?doi\.org/|cite this (?:article|paper)[^\n]{0,200}?doi)"
    r"[^\n]{1,200}$"
)
_SAME_CITATION = re.compile(r"(?:[\s,;&/–-]|and|und|et|y|e|en|и|和|、)*")
_CLAUSE = re.compile(
    r"[;。；]|:\s|,\s+(?:and|und|et|y|и)\b|\b(?:while|whereas|but|although|though|während|aber|mais|pero|но)\b",
    re.IGNORECASE,
)
_FAR = 1 << 62
_OTHER_CLAUSE = 1 << 40
"""What a clause boundary between a remark and a citation counts for, in code points."""

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class DoiMention:
    """A work that a document cites: a row of `doi_mentions`."""

    document_key: str
    work_id: str
    doi: str | None
    pmid: str | None
    raw: str
    start: int | None
    source_key: str | None
    title: str | None
    comment: str | None
    cited: bool
    noted_in_document: bool
    noted_span: str | None


@dataclass(frozen=True, slots=True)
class _Identifier:
    """An identifier, as written, and where in the document (None: in a source row)."""

    value: str
    raw: str
    start: int | None


@dataclass(slots=True)
class _Work:
    """A work while it is put together: its identifiers in order of trust, and where the document speaks of it."""

    source: Source | None = None
    title: str | None = None
    dois: list[_Identifier] = field(default_factory=list)
    pmids: list[_Identifier] = field(default_factory=list)
    arxiv: list[_Identifier] = field(default_factory=list)
    entries: list[Reference] = field(default_factory=list)
    places: list[Range] = field(default_factory=list)
    cited: bool = False

    def identity(self) -> tuple[str, _Identifier] | None:
        """work_id and the identifier behind it: DOI, else PubMed id, else arXiv id, else the source itself."""
        for scheme, known in (("doi", self.dois), ("pmid", self.pmids), ("arxiv", self.arxiv)):
            if known:
                return f"{scheme}:{known[0].value}", known[0]
        if self.source is None:
            return None
        shown = self.source.url or self.source.source_id
        return f"source:{self.source.source_key}", _Identifier("", shown, None)


def find_mentions(
    document: Document,
    citations: Citations,
    own: Sequence[Source],
    evidence: Mapping[str, Evidence],
    settings: Settings,
) -> list[DoiMention]:
    """The works that a document cites, one row each, in order of work_id.

    `own` are the document's own sources, `evidence` the readable ones by source_key. Offsets are code points.
    """
    works = [*_of_sources(citations, own, evidence), *_of_entries(citations), *_of_prose(document, citations)]
    speech = _listen(document, citations, works, settings.acknowledgement)
    merged: dict[str, list[tuple[_Work, _Identifier]]] = {}
    for work in works:
        if identity := work.identity():
            merged.setdefault(identity[0], []).append((work, identity[1]))
    return [_row(document, work_id, merged[work_id], speech) for work_id in sorted(merged)]


def _row(document: Document, work_id: str, same: list[tuple[_Work, _Identifier]], speech: _Speech) -> DoiMention:
    works = [work for work, _ in same]
    named = next((one for _, one in same if one.start is not None), same[0][1])
    source = next((work.source for work in works if work.source is not None), None)
    dois = [one.value for work in works for one in work.dois]
    pmids = [one.value for work in works for one in work.pmids]
    noted = next((span for work in works if (span := speech.says_retracted(work))), None)
    return DoiMention(
        document_key=document.document_key,
        work_id=work_id,
        doi=dois[0] if dois else None,
        pmid=pmids[0] if pmids else None,
        raw=named.raw,
        start=named.start,
        source_key=source.source_key if source else None,
        title=next((work.title for work in works if work.title), None),
        comment=source.comment if source else None,
        cited=any(work.cited for work in works),
        noted_in_document=noted is not None,
        noted_span=noted,
    )


def _of_sources(citations: Citations, own: Sequence[Source], evidence: Mapping[str, Evidence]) -> Iterator[_Work]:
    entries: dict[str, list[Reference]] = {}
    for entry in citations.references:
        if entry.source_key:
            entries.setdefault(entry.source_key, []).append(entry)
    markers: dict[str, list[Marker]] = {}
    for marker in citations.markers:
        if marker.source_key:
            markers.setdefault(marker.source_key, []).append(marker)
    seen: set[str] = set()
    for source in own:
        if source.source_key in seen:
            continue
        seen.add(source.source_key)
        cited = markers.get(source.source_key, [])
        work = _Work(source, source.title, entries=entries.get(source.source_key, []), cited=bool(cited))
        work.places = [(marker.start, marker.end) for marker in cited]
        _read_row(work, source)
        for entry in work.entries:
            _read_entry(work, entry)
            work.title = work.title or entry.title
        if not (work.dois or work.pmids or work.arxiv) and source.source_key in evidence:
            work.dois += _own_doi(evidence[source.source_key].body.text)
        yield work


def _of_entries(citations: Citations) -> Iterator[_Work]:
    """Entries without a source, and what an entry names besides its source's own identifier."""
    dangling: dict[str, list[Range]] = {}
    for marker in citations.markers:
        if marker.source_key is None and marker.target is not None:
            dangling.setdefault(marker.target, []).append((marker.start, marker.end))
    for entry in citations.references:
        if entry.source_key is None:
            places = dangling.get(entry.n or "", [])
            work = _Work(title=entry.title, entries=[entry], places=places, cited=bool(places))
            _read_entry(work, entry)
            yield work
        found = find_dois(entry.entry)
        for doi in found[1:]:
            if doi.doi != found[0].doi:
                yield _Work(dois=[_placed(doi, doi.doi, entry)], entries=[entry])


def _of_prose(document: Document, citations: Citations) -> Iterator[_Work]:
    """Works that the prose names by an identifier; the text is searched once, whatever the number of sentences."""
    starts = [start for start, _ in citations.prose]

    def in_prose(position: int) -> bool:
        index = bisect_right(starts, position) - 1
        return index >= 0 and position < citations.prose[index][1]

    for doi in find_dois(document.text):
        if in_prose(doi.start):
            yield _Work(dois=[_Identifier(doi.doi, doi.raw, doi.start)], places=[(doi.start, doi.end)], cited=True)
    for pmid in find_pmids(document.text):
        if in_prose(pmid.start):
            yield _Work(
                pmids=[_Identifier(pmid.value, pmid.raw, pmid.start)], places=[(pmid.start, pmid.end)], cited=True
            )
    for paper in find_arxiv_ids(document.text):
        if in_prose(paper.start):
            yield _Work(
                arxiv=[_Identifier(paper.value, paper.raw, paper.start)], places=[(paper.start, paper.end)], cited=True
            )


def _read_row(work: _Work, source: Source) -> None:
    if source.doi and (doi := normalise_doi(source.doi)):
        work.dois.append(_Identifier(doi, source.doi, None))
    if source.pmid and (pmid := normalise_pmid(source.pmid)):
        work.pmids.append(_Identifier(pmid, source.pmid, None))
    if url := source.url or source.canonical_url:
        _read_address(work, url, None)


def _read_address(work: _Work, url: str, start: int | None) -> None:
    found = find_dois(url)
    if found:
        work.dois.append(_Identifier(found[0].doi, found[0].raw, None))
        return
    scheme, _, value = (work_of(url) or "").partition(":")
    known = {"doi": work.dois, "pmid": work.pmids, "arxiv": work.arxiv}.get(scheme)
    if known is not None:
        known.append(_Identifier(value, url, start))


def _read_entry(work: _Work, entry: Reference) -> None:
    if found := find_dois(entry.entry):
        work.dois.append(_placed(found[0], found[0].doi, entry))
    elif entry.doi and (doi := normalise_doi(entry.doi)):
        work.dois.append(_Identifier(doi, entry.doi, entry.start))
    work.pmids += [_placed(one, one.value, entry) for one in find_pmids(entry.entry)[:1]]
    work.arxiv += [_placed(one, one.value, entry) for one in find_arxiv_ids(entry.entry)[:1]]
    if entry.url:
        _read_address(work, entry.url, entry.start)


def _placed(found: FoundDoi | FoundId, value: str, entry: Reference) -> _Identifier:
    """An identifier of an entry, with its place in the document if the entry is a plain slice of it."""
    whole = entry.end - entry.start == len(entry.entry)
    return _Identifier(value, found.raw, entry.start + found.start if whole else entry.start)


def _own_doi(text: str) -> list[_Identifier]:
    """The DOI that a source's text states as its own: alone on a line at its head, and no other one there."""
    stated = [found for line in _OWN_DOI_LINE.finditer(text[:_HEAD]) for found in find_dois(line[0])]
    if len({found.doi for found in stated}) != 1:
        return []
    return [_Identifier(stated[0].doi, stated[0].raw, None)]


@dataclass(frozen=True, slots=True)
class _Speech:
    """What a document says near its citations: ranges of citations in order, and the remark about each, if any.

    `of_retraction`: whether it has a word of it at all.
    """

    text: str
    words: Acknowledgement
    of_retraction: bool
    citations: Sequence[Range]
    remarks: Mapping[int, Range]

    def says_retracted(self, work: _Work) -> str | None:
        """The words near a citation of the work, or in its entry, that say it was retracted."""
        if not self.of_retraction:
            return None
        for entry in work.entries:
            if found := remarks(entry.entry, self.words):
                return entry.entry[found[0][0] : found[0][1]]
        for start, _ in work.places:
            index = bisect_right(self.citations, (start, _FAR)) - 1
            if (remark := self.remarks.get(index)) and start < self.citations[index][1]:
                return self.text[remark[0] : remark[1]]
        return None


def _listen(document: Document, citations: Citations, works: Sequence[_Work], words: Acknowledgement) -> _Speech:
    places = {place for work in works for place in work.places}
    places |= {(one.start, one.end) for one in citations.markers if one.status in ("bound", "dangling")}
    grouped = _grouped(document.text, sorted(places))
    of_retraction = may_remark(document.text, words)
    said = _attributed(document.text, sorted(citations.prose), grouped, words) if of_retraction else {}
    return _Speech(document.text, words, of_retraction, grouped, said)


def _attributed(
    text: str, prose: Sequence[Range], citations: Sequence[Range], words: Acknowledgement
) -> dict[int, Range]:
    """For each citation (by index) the remark that is about it: in its sentence, or alone in the sentence beside."""
    said: dict[int, Range] = {}
    inside = [_between(citations, start, end) for start, end in prose]
    for index, (start, end) in enumerate(prose):
        for first, last in remarks(text[start:end], words):
            remark = (start + first, start + last)
            if inside[index]:
                about = _about(text, remark, citations, inside[index])
            else:
                about = _beside(text, prose, inside, index)
            for citation in about:
                said.setdefault(citation, remark)
    return said


def _about(text: str, remark: Range, citations: Sequence[Range], inside: range) -> list[int]:
    """Citations of the remark's own sentence that it is about: the nearest, and one before it in the same clause."""
    right = bisect_right(citations, remark, inside.start, inside.stop)
    beside = [index for index in (right - 1, right) if index in inside]
    distances = {index: _distance(text, remark, citations[index]) for index in beside}
    nearest = min(beside, key=lambda index: distances[index])
    return [index for index in beside if index == nearest or (index < right and distances[index] < _OTHER_CLAUSE)]


def _beside(text: str, prose: Sequence[Range], inside: Sequence[range], index: int) -> list[int]:
    """The one citation of the sentence before, else of the one after, in the same paragraph."""
    for neighbour in (index - 1, index + 1):
        if 0 <= neighbour < len(prose) and inside[neighbour]:
            first, second = sorted((prose[index], prose[neighbour]))
            between = text[first[1] : second[0]]
            if not between.strip() and between.count("\n") < 2:
                return list(inside[neighbour]) if len(inside[neighbour]) == 1 else []
    return []


def _between(citations: Sequence[Range], start: int, end: int) -> range:
    return range(bisect_left(citations, (start, 0)), bisect_left(citations, (end, 0)))


def _distance(text: str, one: Range, other: Range) -> int:
    """Code points between two ranges; another clause is further than any sentence is long."""
    first, second = sorted((one, other))
    between = text[first[1] : second[0]]
    return len(between) + (_OTHER_CLAUSE if _CLAUSE.search(between) else 0)


def _grouped(text: str, places: Sequence[Range]) -> list[Range]:
    """Citations that follow each other with nothing but separators between them are one: `[1, 2]`, `[1] and [2]`."""
    groups: list[Range] = []
    for start, end in places:
        if groups and (start < groups[-1][1] or _SAME_CITATION.fullmatch(text, groups[-1][1], start)):
            groups[-1] = (groups[-1][0], max(end, groups[-1][1]))
        else:
            groups.append((start, end))
    return groups
