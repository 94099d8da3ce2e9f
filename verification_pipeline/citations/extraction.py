"""From a document to its references, markers and pairs: the order of the steps, and the rows they make.

Each step has its own module: `markdown` (shape), `references` (lists), `markers` (tokens), `binding` (sources),
`claims` (what a marker covers). Nothing vanishes: every token becomes marker rows, and every bound or
dangling row names a pair.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from verification_pipeline.citations import claims, markdown, markers, references
from verification_pipeline.citations.binding import Binder, Binding
from verification_pipeline.citations.catalogue import SourceCatalogue
from verification_pipeline.citations.markers import Target, Token
from verification_pipeline.citations.strength import StrongWords
from verification_pipeline.config import Settings
from verification_pipeline.keys import pair_id
from verification_pipeline.records import Citations, Document, Marker, Pair, Source
from verification_pipeline.text import numbers

Range = tuple[int, int]
Strengths = dict[str, tuple[tuple[str, ...], tuple[str, ...]]]
"""Strong markers and numbers, as written, by the claim's text."""

_EMPTY = SourceCatalogue(())


def extract(document: Document, own: Sequence[Source], shared: SourceCatalogue | None, settings: Settings) -> Citations:
    """What a document cites.

    `own` are the source rows that name the document; `shared` is the catalogue of its corpus's other rows, built once.
    """
    rules = settings.citations
    text = document.text
    page = markdown.read(text, document.body_start)
    listed = references.read(text, page, rules, document.body_start)
    binder = Binder(document, SourceCatalogue.build(own), shared or _EMPTY, listed)
    found = [token for token in markers.scan(page, text, rules) if not _in_regions(token.start, listed.regions)]
    tokens = _settled(markers.checked(found, text), text, binder, frozenset(rules.places))
    if not any(token.refused is None and token.kind != "wikilink" and not token.keeps_text for token in tokens):
        tokens = _with_parentheses(tokens, page, listed, binder, settings)
    starts = [token.start for token in tokens]
    prose = [
        (index, block, claims.tokens_in(tokens, starts, block)) for index, block in _prose(page.blocks, listed.regions)
    ]
    # Step by step over the whole document, not block by block: each step's code stays in the processor's caches.
    split = [claims.sentences(page, block, inside, document.language) for _, block, inside in prose]
    cited = [
        claims.cited(text, page, index, block, inside, sentences, document.language, rules)
        for (index, block, inside), sentences in zip(prose, split, strict=True)
    ]
    entries = binder.references()
    rows = _Rows(document, binder, _strengths(cited, document.language, settings))
    for (_, _, inside), covered in zip(prose, cited, strict=True):
        rows.add(inside, {token.start: claim for token, claim in covered})
    sentences = tuple(sentence for block in split for sentence in block)
    return Citations(entries, tuple(rows.markers), tuple(rows.pairs), sentences)


def _strengths(cited: Sequence[claims.Covered], language: str | None, settings: Settings) -> Strengths:
    """The strong markers, and the numbers as written, of every claim of a document."""
    said = dict.fromkeys(claim.text for covered in cited for _, claim in covered)
    typed = [(text, numbers.parse(text, language)) for text in said]
    words = StrongWords.of(language, settings.strong)
    return {text: (words.markers(text, found), tuple([number.text for number in found])) for text, found in typed}


def _prose(blocks: Sequence[markdown.Block], regions: Sequence[Range]) -> Iterator[tuple[int, markdown.Block]]:
    """The blocks, or the parts of them, that lie outside the reference lists."""
    starts = [start for start, _ in regions]
    for index, block in enumerate(blocks):
        position = max(0, bisect_right(starts, block.start) - 1)
        start = block.start
        for first, last in regions[position:]:
            if first >= block.end:
                break
            if last <= start:
                continue
            if first > start:
                yield index, replace(block, start=start, end=first)
            start = max(start, last)
        if start < block.end:
            yield index, block if start == block.start else replace(block, start=start)


def _in_regions(position: int, regions: Sequence[Range]) -> bool:
    index = bisect_right(regions, (position, 1 << 62)) - 1
    return index >= 0 and position < regions[index][1]


def _settled(tokens: Sequence[Token], text: str, binder: Binder, places: frozenset[str]) -> list[Token]:
    """Refuse what only the document's own numbering tells from a citation; drop links to pages that are no source."""
    superscripts = any(token.kind == "superscript" for token in tokens) and _are_style(tokens, binder)
    settled: list[Token] = []
    for token in tokens:
        if token.keeps_text:
            if binder.bind(token, _label(token)).source:
                settled.append(token)
            continue
        if token.kind == "name-year":  # one capitalised word and a year: a citation only if the list knows it
            if binder.bind(token, _label(token)).by:
                settled.append(token._replace(kind="author-year"))
            elif text[token.start] == "[":
                settled.append(token._replace(kind="bracket", refused="year"))
            continue
        if token.kind == "author-year" and _is_place(token, places) and not binder.bind(token, _label(token)).by:
            settled.append(_refused(token, "place and year"))
            continue
        reason = token.refused or _not_numbering(token, binder, superscripts)
        settled.append(token if reason == token.refused else _refused(token, reason))
    return settled


def _are_style(tokens: Sequence[Token], binder: Binder) -> bool:
    """Whether superscripts, and no other marks, name sources of the document."""
    bound = {token.kind for token in tokens if not token.refused and binder.bind(token, _label(token)).source}
    return "superscript" in bound and bound.isdisjoint({"bracket", "footnote", "lens"})


def _label(token: Token) -> str:
    return token.targets[0].label


def _is_place(token: Token, places: frozenset[str]) -> bool:
    """`(Berlin, 2020)`, by the list of places."""
    return len(token.targets) == 1 and _label(token).rpartition(" ")[0].casefold() in places


def _refused(token: Token, reason: str | None) -> Token:
    return token._replace(refused=reason)


def _not_numbering(token: Token, binder: Binder, superscripts: bool) -> str | None:
    if token.kind not in ("bracket", "superscript", "link", "lens"):
        return None
    labels = [target.label for target in token.targets]
    if token.kind != "superscript" and len(labels) == 1 and binder.is_known_number(labels[0]):
        return None
    if token.kind == "superscript" and not superscripts and not token.detached:
        return "power"
    if "0" in labels and len(labels) > 1 and not binder.zero_based:
        return "interval"
    if any(map(binder.is_known_number, labels)) or not all(map(_like_a_year, labels)):
        return None
    return "year" if binder.bind(token, labels[0]).source is None else None


def _like_a_year(label: str) -> bool:
    return len(label) == 4 and "1500" <= label <= "2099"


def _with_parentheses(
    tokens: list[Token], page: markdown.Page, listed: references.ReferenceList, binder: Binder, settings: Settings
) -> list[Token]:
    """Read `(7)` as a citation in a document that has numbers to cite and no other numeric style."""
    found = [
        token
        for token in markers.numbered_parentheses(page.view, settings.citations)
        if not _in_regions(token.start, listed.regions)
    ]
    known = sum(all(binder.is_known_number(target.label) for target in token.targets) for token in found)
    if not known or 2 * known < len(found):
        return tokens
    taken = [token for token in tokens if token.refused is None]
    return sorted([*taken, *found], key=lambda token: token.start)


class _Rows:
    """Collects marker and pair rows in document order; one use per document."""

    def __init__(self, document: Document, binder: Binder, strengths: Strengths) -> None:
        self.document = document
        self.binder = binder
        self.markers: list[Marker] = []
        self.pairs: list[Pair] = []
        self._occurrences: Counter[str] = Counter()  # by the id of the first pair with that claim and target
        self._of_claim: dict[tuple[tuple[Range, ...], str], str] = {}
        self._strengths = strengths

    def add(self, tokens: Sequence[Token], claim_of: dict[int, claims.Claim]) -> None:
        """The rows of one block's tokens; `claim_of` maps a token's start to its claim."""
        for token in tokens:
            claim = claim_of.get(token.start)
            for target in token.targets:
                self.markers.append(self._marker(token, target, claim))

    def _marker(self, token: Token, target: Target, claim: claims.Claim | None) -> Marker:
        binding = Binding() if token.refused or token.kind == "leaked-token" else self.binder.bind(token, target.label)
        status, reason = _status(token, binding)
        if claim is None and status in ("bound", "dangling"):
            raise AssertionError("a citing token without a claim")
        named = self._pair(token, target, claim, binding) if claim and status in ("bound", "dangling") else None
        return Marker(
            document_key=self.document.document_key,
            marker_index=len(self.markers),
            text=self.document.text[token.start : token.end],
            start=token.start,
            end=token.end,
            kind=token.kind,
            target=binding.source.source_id if binding.source else target.label,
            source_key=binding.source.source_key if binding.source else None,
            status=status,
            pair_id=named,
            reason=reason,
        )

    def _pair(self, token: Token, target: Target, claim: claims.Claim, binding: Binding) -> str:
        """The id of the pair of this claim and target, made on its first marker."""
        cited = binding.source.source_id if binding.source else target.label
        known = self._of_claim.get((claim.spans, cited))
        if known:
            return known
        first = pair_id(self.document.document_key, claim.text, cited, 0)
        occurrence = self._occurrences[first]
        self._occurrences[first] += 1
        identity = pair_id(self.document.document_key, claim.text, cited, occurrence) if occurrence else first
        self._of_claim[claim.spans, cited] = identity
        status, reason = self._pair_status(binding)
        strong, written = self._strengths[claim.text]
        text = self.document.text
        self.pairs.append(
            Pair(
                pair_id=identity,
                document_key=self.document.document_key,
                pair_index=len(self.pairs),
                sentence=text[claim.sentence[0] : claim.sentence[1]],
                sentence_start=claim.sentence[0],
                sentence_end=claim.sentence[1],
                claim=claim.text,
                claim_spans=claim.spans,
                context=claim.context,
                marker=text[token.start : token.end],
                n=target.label if target.label.isdigit() and token.kind != "wikilink" else None,
                note_id=target.label if token.kind == "wikilink" else None,
                target=cited,
                source_key=binding.source.source_key if binding.source else None,
                locator=target.locator,
                scope=claim.scope,
                status=status,
                reason=reason,
                strong=bool(strong),
                strong_markers=strong,
                numbers=written,
            )
        )
        return identity

    def _pair_status(self, binding: Binding) -> tuple[str, str | None]:
        source = binding.source
        if source is None:
            return "dangling", binding.reason
        if self.binder.is_self_citation(source):
            return "uncheckable", "self-citation"
        if source.status == "ok":
            return "bound", None
        if source.reason and source.reason.startswith("too-large"):
            return "uncheckable", "too-large"
        return "uncheckable", "unreadable" if source.status == "unreadable" else "no-text"


def _status(token: Token, binding: Binding) -> tuple[str, str | None]:
    if token.refused:
        return "not-a-citation", token.refused
    if token.kind == "leaked-token":
        return "unsupported-style", "leaked citation token"
    if binding.source is not None:
        return "bound", None
    if token.kind == "author-year" and binding.by is None:
        return "unsupported-style", "author and year name no single entry"
    return "dangling", binding.reason


def usable(citations: Citations, sources: Sequence[Source]) -> Iterator[Source]:
    """The sources of a document that its bound pairs rest on, each once, in the order given."""
    cited = {pair.source_key for pair in citations.pairs if pair.status == "bound"}
    return (source for source in sources if source.source_key in cited)
