"""What a marker covers: sentences, clauses, table cells and rows, paragraphs, and their context.

A block's sentences are split with its markers blanked; a marker belongs to the sentence it stands in or behind. Where a
sentence cites different sources for different clauses, each clause is a claim of its own. What belongs elsewhere: which
source a marker means (`binding`).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from verification_pipeline.citations.markdown import Block, Page
from verification_pipeline.citations.markers import Token
from verification_pipeline.config import Citations as CitationSettings
from verification_pipeline.text.sentences import split

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Claim:
    """What a group of markers covers: the sentence, the claim's words and places, its scope and context."""

    sentence: Range
    text: str
    spans: tuple[Range, ...]
    scope: str
    context: str | None


Covered = tuple[tuple[Token, Claim], ...]
"""For each token of a block that cites, the claim that it covers."""


_CONJUNCTIONS = "and|but|while|whereas|although|though|yet|und|aber|während|et|mais|tandis|y|pero|mientras|и|а|но"
_CLAUSE_MARK = re.compile(
    r"\s*(?:[,;:，；、—–]|(?:but|while|whereas|although|though|yet|aber|während|mais|tandis|pero)\b)", re.I
)
_CONJUNCTION = re.compile(rf"\s*(?:(?:{_CONJUNCTIONS})\b|[而但并且])", re.IGNORECASE)
_LONGEST_CONTEXT = 400
_MOST_CLAUSES = 40
"""A sentence with more groups of markers than this is an enumeration, and one claim."""
_WORD = re.compile(r"[^\W\d_][\w'’-]*|\d[\d.,]*|[\u3040-\u30ff\u3400-\u9fff]")
_SPACE_BEFORE_MARK = re.compile(r" (?=[.,;:!?…。，；：！？）)\]])")
_NO_WORD_END = frozenset(("", " ", "\n", *".!?…。！？,;:"))
_GAP_BEFORE_STOP = re.compile(r" (?<!  ) {2,}+(?=[.!?…](?:\s|$))")
_EMPTY_BRACKETS = re.compile(r"[(（]\s*[,;.]?\s*[)）]|\[\s*\]")


def sentences(page: Page, block: Block, tokens: Sequence[Token], language: str | None) -> list[Range]:
    """The sentences of a block of prose; its tokens, in order, are no part of them."""
    base = block.start
    blanked = _for_splitting(page.view, block.start, block.end, tokens)
    return [(start + base, end + base) for start, end in split(blanked, language)]


def cited(
    text: str,
    page: Page,
    index: int,
    block: Block,
    tokens: Sequence[Token],
    sentences: Sequence[Range],
    language: str | None,
    settings: CitationSettings,
) -> Covered:
    """The claims of the prose `block` (block `index` of the page or part of it), with its tokens and sentences."""
    if not tokens:
        return ()
    if block.kind == "cell":
        whole = _cell(block, index, page, tokens, settings)
        if whole is not None:
            return whole
    context = _context(block, page)
    if not sentences:
        return _marks_alone(block, index, page, tokens, context, language)
    owned = _by_sentence(page.view, sentences, tokens)
    scope = "list-item" if block.kind == "item" and len(sentences) == 1 else "sentence"
    if _covers_paragraph(text, sentences, tokens):
        whole_block = (sentences[0][0], sentences[-1][1])
        claim = _claim(page, tokens, (sentences[-1][0], tokens[-1].end), (whole_block,), "paragraph", context)
        return tuple((token, claim) for token in tokens)
    claims: list[tuple[Token, Claim]] = []
    for number, members in owned.items():
        start, end = sentences[number]
        stretch = (min(start, members[0].start), max(end, members[-1].end))
        claims += _of_sentence(page, stretch, members, scope, context, settings)
    return tuple(claims)


def _blanked(view: str, start: int, end: int, tokens: Sequence[Token]) -> str:
    pieces, position = [], start
    for token in tokens:
        if token.refused or token.keeps_text:
            continue
        pieces += [view[position : token.start], " " * (token.end - token.start)]
        position = token.end
    pieces.append(view[position:end])
    return "".join(pieces)


def _for_splitting(view: str, start: int, end: int, tokens: Sequence[Token]) -> str:
    """The block with its markers blanked; before a full stop they lengthen the last word, so that `5 m [1].` ends."""
    if not tokens:
        return view[start:end]
    blanked = _blanked(view, start, end, tokens)
    return _GAP_BEFORE_STOP.sub(_lengthened, blanked)


def _lengthened(gap: re.Match[str]) -> str:
    before = gap.string[gap.start() - 1 : gap.start()]
    return gap.group() if before in _NO_WORD_END else "x" * len(gap.group())


def _by_sentence(view: str, sentences: Sequence[Range], tokens: Sequence[Token]) -> dict[int, list[Token]]:
    """Tokens by the sentence that they stand in, or behind; before the first sentence they go with it.

    Between two sentences, a marker that a lower-case word follows is the subject of what comes: `. [3] reports …`.
    """
    starts = [start for start, _ in sentences]
    owned: dict[int, list[Token]] = {}
    for token in tokens:
        number = max(0, bisect_right(starts, token.start) - 1)
        if token.start >= sentences[number][1] and number + 1 < len(sentences):
            following = starts[number + 1]
            if view[following].islower() and view[following] < "\u2e80" and not view[token.end : following].strip():
                number += 1
        owned.setdefault(number, []).append(token)
    return owned


def _covers_paragraph(text: str, sentences: Sequence[Range], tokens: Sequence[Token]) -> bool:
    """Whether all markers stand on a line of their own behind several sentences."""
    if len(sentences) < 2 or tokens[0].start < sentences[-1][1]:
        return False
    return "\n" in text[sentences[-1][1] : tokens[0].start]


def _of_sentence(
    page: Page, sentence: Range, tokens: list[Token], scope: str, context: str | None, settings: CitationSettings
) -> Iterator[tuple[Token, Claim]]:
    groups = _groups(page.view, tokens)
    cuts = _clause_cuts(page.view, sentence, groups, tokens, settings) if len(groups) > 1 else []
    if not cuts:
        claim = _claim(page, tokens, sentence, (sentence,), scope, context)
        for token in tokens:
            yield token, claim
        return
    edges = [sentence[0], *cuts, sentence[1]]
    whole = claim_text(page, sentence, tokens)
    context = f"{context} > {whole}" if context else whole
    for first, last in pairwise(edges):
        members = [token for token in tokens if first <= token.start < last]
        claim = _claim(page, tokens, sentence, ((first, last),), "clause", context)
        for token in members:
            yield token, claim


def _groups(view: str, tokens: Sequence[Token]) -> list[list[Token]]:
    """Tokens with nothing but punctuation between them stand together."""
    groups: list[list[Token]] = []
    for token in tokens:
        if token.refused or token.keeps_text:
            continue
        if groups and not any(map(str.isalnum, view[groups[-1][-1].end : token.start])):
            groups[-1].append(token)
        else:
            groups.append([token])
    return groups


def _clause_cuts(
    view: str, sentence: Range, groups: list[list[Token]], tokens: Sequence[Token], settings: CitationSettings
) -> list[int]:
    """Places right behind a marker group where a new clause begins; none unless every clause says something itself."""
    labels = [frozenset(target.label for token in group for target in token.targets) for group in groups]
    if len(groups) > _MOST_CLAUSES or len(set(labels)) == 1:
        return []
    closed = not any(map(str.isalnum, view[groups[-1][-1].end : sentence[1]]))
    cuts: list[int] = []
    edge = sentence[0]
    for group in groups[:-1]:
        end = group[-1].end
        marked = _CLAUSE_MARK.match(view, end, sentence[1]) is not None
        marked = marked or view[max(edge, group[0].start - 2) : group[0].start].strip()[-1:] in tuple(",;:，；")
        if not marked and not (closed and _CONJUNCTION.match(view, end, sentence[1])):
            continue
        if _content_words(view, edge, end, tokens) >= (settings.clause_min_words if cuts else 2):
            cuts.append(end)
            edge = end
    while cuts and _content_words(view, cuts[-1], sentence[1], tokens) < settings.clause_min_words:
        cuts.pop()
    return cuts


def _content_words(view: str, start: int, end: int, tokens: Sequence[Token]) -> int:
    """Words between two places, without markers and a leading conjunction."""
    inside = [token for token in tokens if start <= token.start < end]
    words = _WORD.findall(_blanked(view, start, end, inside))
    return len(words) - bool(words and re.fullmatch(_CONJUNCTIONS, words[0], re.IGNORECASE))


def _claim(
    page: Page, tokens: Sequence[Token], sentence: Range, spans: tuple[Range, ...], scope: str, context: str | None
) -> Claim:
    read = [_tight(page, span, tokens) for span in spans]
    return Claim(sentence, " ".join(text for _, text in read), tuple(span for span, _ in read), scope, context)


def _tight(page: Page, span: Range, tokens: Sequence[Token]) -> tuple[Range, str]:
    """The span without white space, connecting punctuation and markers at its ends, and its words."""
    start, end = span
    inside = [token for token in tokens if start <= token.start < end]
    body = _blanked(page.view, start, end, inside)
    left = len(body) - len(body.lstrip(" \n,;:，；—–"))
    right = len(body.rstrip(" \n,;，；"))
    if left >= right:
        return span, claim_text(page, span, tokens)
    words = body if page.words is page.view else _blanked(page.words, start, end, inside)
    return (start + left, start + right), _tidied(words[left:right], bool(inside))


def claim_text(page: Page, span: Range, tokens: Sequence[Token]) -> str:
    """The words of a span, markers blanked, white space and what the markers leave behind tidied."""
    inside = [token for token in tokens if span[0] <= token.start < span[1]]
    return _tidied(_blanked(page.words, span[0], span[1], inside), bool(inside))


def _tidied(text: str, marked: bool) -> str:
    if marked and any(bracket in text for bracket in "([（"):
        text = _EMPTY_BRACKETS.sub(" ", text)
    return _SPACE_BEFORE_MARK.sub("", " ".join(text.split()))


def _context(block: Block, page: Page) -> str | None:
    """Headings above the block, and what introduces its list, outermost first."""
    parts = [_plain(page, index) for index in block.sections]
    if block.lead >= 0 and page.blocks[block.lead].kind != "heading":
        parts.append(_plain(page, block.lead)[-_LONGEST_CONTEXT:])
    return " > ".join(part for part in parts if part) or None


def _cell(
    block: Block,
    index: int,
    page: Page,
    tokens: Sequence[Token],
    settings: CitationSettings,
) -> tuple[tuple[Token, Claim], ...] | None:
    """The claim of a table cell: with its row and column names; of the row when the cell holds only markers."""
    own_words = _content_words(page.view, block.start, block.end, tokens)
    if own_words >= settings.cell_sentence_words:
        return None
    row = [
        page.cells[block.table, block.row, column]
        for column in range(64)
        if (block.table, block.row, column) in page.cells
    ]
    context = _context(block, page)
    header = page.cells.get((block.table, 0, block.column))
    if not own_words:
        spans = [span for other in row if other != index and (span := _words_of(page, other))]
        if not spans or block.row == 0:
            return None
        text = "; ".join(_named(page, other) for other in row if other != index and _words_of(page, other))
        claim = Claim((spans[0][0], max(block.end, spans[-1][1])), text, tuple(spans), "row", context)
        return tuple((token, claim) for token in tokens)
    if block.row == 0:
        return None
    label = page.cells.get((block.table, block.row, 0)) if block.column else None
    cell, value = _tight(page, (block.start, block.end), tokens)
    names = [other for other in (label, header) if other is not None and other != index and _words_of(page, other)]
    text = ", ".join(_plain(page, other) for other in names)
    spans = [*(span for other in names if (span := _words_of(page, other))), cell]
    claim = Claim((block.start, block.end), f"{text}: {value}" if text else value, tuple(spans), "cell", context)
    return tuple((token, claim) for token in tokens)


_MARK = re.compile(r"\[\[?\^?[^\[\]\n]{1,40}\]?\]|【[^【】\n]{1,40}】")


def _plain(page: Page, index: int) -> str:
    """The words of a block without its markers."""
    return _SPACE_BEFORE_MARK.sub("", " ".join(_MARK.sub(" ", page.text_of(index)).split()))


def _words_of(page: Page, index: int) -> Range | None:
    block = page.blocks[index]
    text = page.view[block.start : block.end]
    bare = _MARK.sub(lambda match: " " * len(match.group()), text)
    if not any(map(str.isalnum, bare)):
        return None
    return block.start + len(bare) - len(bare.lstrip()), block.start + len(bare.rstrip())


def _named(page: Page, index: int) -> str:
    block = page.blocks[index]
    header = page.cells.get((block.table, 0, block.column))
    name = _plain(page, header) if header is not None else ""
    return f"{name}: {_plain(page, index)}" if name else _plain(page, index)


def _marks_alone(
    block: Block, index: int, page: Page, tokens: Sequence[Token], context: str | None, language: str | None
) -> tuple[tuple[Token, Claim], ...]:
    """A block of markers alone covers the paragraph before it."""
    before = page.blocks[index - 1] if index and page.blocks[index - 1].kind in ("paragraph", "item") else None
    if before is None:
        span = (block.start, block.end)
        claim = Claim(span, "", (span,), "paragraph", context)
    else:
        span = (before.start, before.end)
        sentences = split(page.view[before.start : before.end], language)
        last = sentences[-1] if sentences else (0, before.end - before.start)
        claim = Claim(
            (before.start + last[0], before.start + last[1]), claim_text(page, span, ()), (span,), "paragraph", context
        )
    return tuple((token, claim) for token in tokens)


def tokens_in(tokens: Sequence[Token], starts: Sequence[int], block: Block) -> Sequence[Token]:
    """The tokens that stand inside a block; `starts` are the tokens' starts."""
    return tokens[bisect_left(starts, block.start) : bisect_left(starts, block.end)]
