"""The sources that a document may cite, looked up by number, id, alias, DOI, address and title.

A catalogue is built once for a document's own rows and once for a corpus's shared rows; its tables are made on first
use, so that 100,000 shared sources cost nothing for a document that cites by number. What belongs elsewhere: what a
marker or a reference entry says (`markers`, `references`), and which finding wins (`binding`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from verification_pipeline.dois.normalise import normalise_doi
from verification_pipeline.records import Source

_NOT_WORD = re.compile(r"[\W_]+")


def title_key(title: str) -> str:
    """The form in which titles are compared: compatibility forms and case folded, punctuation as one space."""
    return _NOT_WORD.sub(" ", unicodedata.normalize("NFKC", title).casefold()).strip()


@dataclass(frozen=True)
class SourceCatalogue:
    """Sources with their look-up tables; every table maps a key to the sources that have it, in the order given."""

    sources: tuple[Source, ...]

    @classmethod
    def build(cls, sources: Iterable[Source]) -> SourceCatalogue:
        """A catalogue of these sources."""
        return cls(tuple(sources))

    def __bool__(self) -> bool:
        return bool(self.sources)

    def _table(self, keys: Callable[[Source], Sequence[str | None]]) -> dict[str, tuple[Source, ...]]:
        table: dict[str, tuple[Source, ...]] = {}
        for source in self.sources:
            for key in keys(source):
                if key:
                    held = table.get(key, ())
                    if source not in held:
                        table[key] = (*held, source)
        return table

    @cached_property
    def by_number(self) -> dict[str, tuple[Source, ...]]:
        """By the citation number the archive gives."""
        return self._table(lambda source: (None if source.n is None else str(source.n),))

    @cached_property
    def by_id(self) -> dict[str, tuple[Source, ...]]:
        """By the caller's id, as written."""
        return self._table(lambda source: (source.source_id,))

    @cached_property
    def by_folded_id(self) -> dict[str, tuple[Source, ...]]:
        """By the id without case."""
        return self._table(lambda source: (source.source_id.casefold(),))

    @cached_property
    def by_alias(self) -> dict[str, tuple[Source, ...]]:
        """By an alias, without case."""
        return self._table(lambda source: [alias.casefold() for alias in source.aliases])

    @cached_property
    def by_url(self) -> dict[str, tuple[Source, ...]]:
        """By the address as given."""
        return self._table(lambda source: (source.url,))

    @cached_property
    def by_canonical_url(self) -> dict[str, tuple[Source, ...]]:
        """By the canonical address."""
        return self._table(lambda source: (source.canonical_url,))

    @cached_property
    def by_doi(self) -> dict[str, tuple[Source, ...]]:
        """By the DOI in normal form."""
        return self._table(lambda source: (normalise_doi(source.doi) if source.doi else None,))

    @cached_property
    def by_title(self) -> dict[str, tuple[Source, ...]]:
        """By the title in the form of `title_key`."""
        return self._table(lambda source: (title_key(source.title) if source.title else None,))
