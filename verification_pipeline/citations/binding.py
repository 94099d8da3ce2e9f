"""Which source a label means: a number, a footnote, an id, an address, an author and year.

The order is fixed: a number goes to the document's own rows (`n`, or an id that is that number), then through its
reference list by DOI, address and title; a shared row's id answers a number only for a document that has neither. What
two sources could mean is a conflict and stays unbound. What belongs elsewhere: how a marker is written (`markers`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from verification_pipeline.citations.catalogue import SourceCatalogue, title_key
from verification_pipeline.citations.markers import Token
from verification_pipeline.citations.references import Entry, ReferenceList
from verification_pipeline.records import Document, Reference, Source
from verification_pipeline.text.addresses import canonical_url


@dataclass(frozen=True, slots=True)
class Binding:
    """What a label came to: its source, by which way, or why there is none."""

    source: Source | None = None
    by: str | None = None
    reason: str | None = None


_UNLISTED = Binding(reason="no source and no entry of a reference list")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d[a-z]?$")
_SURNAME = re.compile(r"[^\W\d_][\w'’‐-]+")


class Binder:
    """Resolves the labels of one document; every label is worked out once."""

    def __init__(
        self, document: Document, own: SourceCatalogue, shared: SourceCatalogue, listed: ReferenceList
    ) -> None:
        self._document = document
        self._own = own
        self._shared = shared
        self._listed = listed
        self._address = canonical_url(document.url) if document.url else None
        self._numbered: dict[str, list[int]] = {}
        self._notes: dict[str, list[int]] = {}
        for index, entry in enumerate(listed.entries):
            if entry.label is not None:
                (self._notes if entry.footnote else self._numbered).setdefault(entry.label, []).append(index)
        self._entries: dict[int, Binding] = {}
        self._together: dict[tuple[bool, str], Binding] = {}
        self._labels: dict[tuple[str, str], Binding] = {}

    @property
    def zero_based(self) -> bool:
        """Whether the document's numbering begins with 0."""
        return "0" in self._numbered or "0" in self._own.by_number or "0" in self._own.by_id

    def is_known_number(self, label: str) -> bool:
        """Whether a number is given to a source or an entry."""
        return label in self._numbered or label in self._own.by_number or label in self._own.by_id

    def bind(self, token: Token, label: str) -> Binding:
        """The source that this label of a token means."""
        key = (token.kind, label) if token.address is None else (token.address, label)
        found = self._labels.get(key)
        if found is None:
            found = self._labels[key] = self._bind(token, label)
        return found

    def _bind(self, token: Token, label: str) -> Binding:
        if token.kind == "wikilink":
            return self._wikilink(label)
        if token.kind == "link" and token.keeps_text:
            return self._by_address(label) or Binding()
        if token.kind == "link":
            found = self._number(label)
            return found if found.source or not token.address else self._by_address(token.address) or found
        if token.kind in ("author-year", "name-year"):
            return self._author_year(label)
        if token.kind == "footnote":
            return self._footnote(label)
        return self._number(label)

    def _number(self, label: str) -> Binding:
        number = label.lstrip("0") or label[:1]
        own = self._own
        for held, by in ((own.by_number.get(number), "number"), (own.by_id.get(label), "id")):
            if held:
                return _one(held, by, f"several sources have the number {label}")
        if label in self._numbered or number in self._numbered:
            return self._listed_as(label if label in self._numbered else number, footnote=False)
        if label in self._notes:
            return self._listed_as(label, footnote=True)
        if not own and not self._listed.entries:
            held = self._shared.by_id.get(label)
            if held:
                return _one(held, "id", f"several sources have the id {label}")
        return _UNLISTED

    def _footnote(self, label: str) -> Binding:
        indices = self._notes.get(label)
        if indices:
            found = self._listed_as(label, footnote=True)
            if found.source or any(self._listed.entries[i].url or self._listed.entries[i].doi for i in indices):
                return found
            inner = self._marker_in_note(indices[0])
            if inner is not None:
                return inner
            by_number = self._number(label) if label.isdigit() and not self._numbered else found
            return by_number if by_number.source else found
        return self._number(label)

    def _marker_in_note(self, index: int) -> Binding | None:
        """A footnote that only points on: `[^3]: See [7], p. 4.`"""
        cited = set(re.findall(r"\[(\d{1,4})\]", self._listed.entries[index].body))
        return self._number(cited.pop()) if len(cited) == 1 else None

    def _listed_as(self, label: str, *, footnote: bool) -> Binding:
        """What the entries with one label mean together: one source, or a conflict."""
        found = self._together.get((footnote, label))
        if found is None:
            indices = (self._notes if footnote else self._numbered)[label]
            bindings = [self.entry(index) for index in indices]
            keys = {binding.source.source_key if binding.source else None for binding in bindings}
            bodies = {title_key(self._listed.entries[index].body) for index in indices}
            conflict = len(keys) > 1 or (len(bodies) > 1 and None in keys)
            found = Binding(reason=f"the number {label} is defined more than once") if conflict else bindings[0]
            self._together[footnote, label] = found
        return found

    def entry(self, index: int) -> Binding:
        """The source that an entry of the reference list means, by DOI, address, title."""
        found = self._entries.get(index)
        if found is None:
            found = self._entries[index] = self._resolved(self._listed.entries[index])
        return found

    def _resolved(self, entry: Entry) -> Binding:
        conflict: Binding | None = None
        for catalogue in (self._own, self._shared):
            if not catalogue:
                continue
            exact = catalogue.by_url.get(entry.url) if entry.url else None
            if exact and len(exact) == 1 and entry.doi is None:
                return Binding(exact[0], "url")
            held = catalogue.by_doi.get(entry.doi) if entry.doi else None
            if held:
                found = _one(_narrowed(held, entry), "doi", "several sources have this DOI")
                if found.source:
                    return found
                conflict = conflict or found
        for catalogue in (self._own, self._shared):
            if entry.url and catalogue:
                found = self._at(catalogue, entry.url, entry) or Binding()
                if found.source:
                    return found
                conflict = conflict or (found if found.reason else None)
        if conflict:
            return conflict
        for catalogue in (self._own, self._shared):
            if catalogue and not (entry.url and catalogue is self._shared):
                for titled in _by_titles(catalogue, entry):
                    found = _one(_narrowed(titled, entry), "title", "several sources have this title")
                    if found.source:
                        return found
                    conflict = conflict or found
        return conflict or Binding(reason="listed, but no source has its DOI, address or title")

    def _by_address(self, address: str) -> Binding | None:
        for catalogue in (self._own, self._shared):
            found = self._at(catalogue, address, None) if catalogue else None
            if found:
                return found
        return None

    def _at(self, catalogue: SourceCatalogue, address: str, entry: Entry | None) -> Binding | None:
        """The source at an address: as given, else in canonical form."""
        held: Sequence[Source] | None = catalogue.by_url.get(address)
        if not held:
            canonical = canonical_url(address)
            held = catalogue.by_canonical_url.get(canonical) if canonical else None
        if not held and entry is not None:
            held = _spaced(catalogue, entry)
        if not held:
            return None
        return _one(_narrowed(held, entry) if entry else held, "url", "several sources have this address")

    def _wikilink(self, label: str) -> Binding:
        folded = label.casefold()
        for catalogue in (self._own, self._shared):
            for held, by in (
                (catalogue.by_id.get(label), "id"),
                (catalogue.by_folded_id.get(folded), "id"),
                (catalogue.by_alias.get(folded), "alias"),
                (catalogue.by_title.get(title_key(label)) if not label.isdigit() else None, "title"),
            ):
                if held:
                    return _one(held, by, f"several sources are called {label}")
        return self._number(label) if label.isdigit() else _UNLISTED

    def _author_year(self, label: str) -> Binding:
        """The entry whose text begins with the first name and holds the others and the year, if there is just one."""
        names, _, year = label.rpartition(" ")
        surnames = [name for name in _SURNAME.findall(names) if name[0].isupper()]
        if not surnames or not _YEAR.match(year):
            return Binding()
        matching = [
            index
            for index, entry in enumerate(self._listed.entries)
            if re.search(rf"(?<!\w){re.escape(year)}(?!\w)", entry.body)
            and surnames[0] in entry.body[:80]
            and all(name in entry.body for name in surnames)
        ]
        if len(matching) != 1:
            return Binding()
        found = self.entry(matching[0])
        return Binding(found.source, "author-year", found.reason)

    def is_self_citation(self, source: Source) -> bool:
        """Whether a source is the document itself."""
        document = self._document
        if source.document_id is None and source.source_id == document.document_id:
            return True
        if self._address is None or not (source.canonical_url or source.url):
            return False
        return (source.canonical_url or canonical_url(source.url or "")) == self._address

    def references(self) -> tuple[Reference, ...]:
        """Every entry as a row of `references`."""
        return tuple(self._reference(index, entry) for index, entry in enumerate(self._listed.entries))

    def _reference(self, index: int, entry: Entry) -> Reference:
        held = self._own.by_number.get(entry.label or "") or self._own.by_id.get(entry.label or "")
        found = self.entry(index)
        if found.source is None and held and len(held) == 1 and not entry.footnote:
            found = Binding(held[0], "number" if held[0].n is not None else "id")
        conflict = None if found.source else _conflict(found.reason)
        same = (self._notes if entry.footnote else self._numbered).get(entry.label or "", [])
        if len(same) > 1 and self._listed_as(entry.label or "", footnote=entry.footnote).source is None:
            conflict = f"the number {entry.label} is defined more than once"
        return Reference(
            document_key=self._document.document_key,
            n=entry.label,
            entry=entry.text,
            start=entry.start,
            end=entry.end,
            title=entry.title,
            url=entry.url,
            doi=entry.doi,
            source_key=found.source.source_key if found.source else None,
            resolved_by=found.by if found.source else None,
            conflict=conflict,
        )


def _conflict(reason: str | None) -> str | None:
    return reason if reason and reason.startswith(("several", "the number")) else None


def _one(held: Sequence[Source], by: str, conflict: str) -> Binding:
    return Binding(held[0], by) if len(held) == 1 else Binding(reason=conflict)


def _narrowed(held: Sequence[Source], entry: Entry) -> Sequence[Source]:
    """Sources that share a key, told apart by the other things that the entry says."""
    for says in (
        lambda source: entry.url is not None and source.url == entry.url,
        lambda source: (
            entry.title is not None and bool(source.title) and title_key(source.title) == title_key(entry.title)
        ),
        lambda source: bool(source.title) and title_key(source.title) in title_key(entry.body),
    ):
        if len(held) > 1:
            held = [source for source in held if says(source)] or held
    return held


def _by_titles(catalogue: SourceCatalogue, entry: Entry) -> list[Sequence[Source]]:
    """Sources whose title the entry states: as a whole, as a quoted or emphasised part, as a sentence of it."""
    candidates = [entry.title or ""]
    candidates += re.findall(r"[\"“„«](.{3,300}?)[\"”“»]", entry.body)
    candidates += re.findall(r"\*{1,2}([^*\n]{3,300})\*{1,2}", entry.body)
    candidates += re.split(r"\.\s+|\s[–—-]\s|\n", entry.body)
    found = [
        catalogue.by_title.get(title_key(candidate)) for candidate in dict.fromkeys(candidates) if candidate.strip()
    ]
    return [held for held in found if held]


def _spaced(catalogue: SourceCatalogue, entry: Entry) -> Sequence[Source] | None:
    """Sources whose address holds a space and stands in the entry as it is; small own lists only."""
    if len(catalogue.sources) > 2_000 or " " not in entry.body:
        return None
    held = [source for source in catalogue.sources if source.url and " " in source.url and source.url in entry.body]
    return held or None
