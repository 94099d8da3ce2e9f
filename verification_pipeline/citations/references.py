"""Reference lists: where a document's list is, and what its entries say.

A list stands under one of the usual headings (in any heading style, anywhere in the document), in link definitions and
footnotes, or as a run of numbered lines without a heading. Its lines are read as written, because Markdown takes
`[1]: address` lines away and joins lines that are entries. What belongs elsewhere: which source an entry means
(`binding`).
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from verification_pipeline.citations.markdown import Page
from verification_pipeline.config import Citations as CitationSettings
from verification_pipeline.dois.normalise import find_dois

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: its number or footnote label (None without one), place, words, and what they name."""

    label: str | None
    footnote: bool
    start: int
    end: int
    text: str
    body: str
    url: str | None
    doi: str | None
    title: str | None


@dataclass(frozen=True, slots=True)
class ReferenceList:
    """All entries of a document and the ranges that are list and not prose."""

    entries: tuple[Entry, ...]
    regions: tuple[Range, ...]


_LABEL = re.compile(
    r"[ \t>]*(?:[-*+•–·][ \t]+)?(?:\*\*|__|<sup>|<a [^>\n]{0,80}></a>)?[ \t]?"
    r"(?:\\?\[(?P<note>\^)?(?P<bracket>[^\]\\\n\[]{1,80})\\?\](?:\((?P<anchor>[^()\n]{0,2000})\))?"
    r"|\[\[(?P<double>\d{1,4})\]\](?:\((?P<address>[^()\s]{0,2000})\))?"
    r"|【(?P<lens>\d{1,4})】|［(?P<wide>\d{1,4})］|\((?P<paren>\d{1,4})\)(?=\s)|(?P<dot>\d{1,4})\\?[.)](?=\s|$)"
    r"|(?P<sup>[⁰¹²³⁴-⁹]{1,4}))"
    r"(?:\*\*|__|</sup>)?[:.]?(?:\*\*|__)?[ \t]*"
)
_NUMBER = re.compile(r"\d{1,4}[a-z]?")
_TABLE_ROW = re.compile(r"[ \t>]*\|[ \t]*(?:\*\*)?\\?\[?\^?(?P<number>\d{1,4})\\?\]?\.?(?:\*\*)?[ \t]*\|")
_TABLE_RULE = re.compile(r"[ \t>]*\|?[ \t]*:?-{2,}[-:| \t]*")
_BULLET = re.compile(r"(?P<indent>[ \t>]*)[-*+•·][ \t]+")
_RULE = re.compile(r"[ \t]*(?:-[ \t]*){3,}$|[ \t]*(?:\*[ \t]*){3,}$|[ \t]*(?:_[ \t]*){3,}$")
_HEADING_LINE = re.compile(r"[ \t]{0,3}#{1,6}(?:[ \t]|$)")
_SETEXT = re.compile(r"[ \t]{0,3}(?:=+|-+)[ \t]*$")
_ADDRESS_IN = re.compile(r"(?:https?|ftp)://|\bwww\.|\bdoi:|\b10\.\d{4,9}/|\barxiv:", re.IGNORECASE)
_CITED_YEAR = re.compile(r"\((?:1[5-9]|20)\d\d[a-z]?(?:,[^()\n]{0,20})?\)")
_MARK_IN_PROSE = re.compile(r"\S\s?\[\d{1,3}\]")
_CITES = re.compile(r"\S\s?(?:\[\d{1,3}\]|\[\[\d{1,3}\]\])")
_LINKED_NUMBER = re.compile(r"[ \t>]*\[(?:\[\d{1,4}\]|\d{1,4})\]\([^()\s]*\)")
_SENTENCE_GOES_ON = re.compile(r"\s*(?:[.,;:!?)。，；：！？）](?:\s|$)|[a-zà-öø-ÿ])")
_TABLE_LINE = re.compile(r"[ \t>]*\|")
_STOPS = frozenset(("", *".!?…:。！？："))
_CLOSING = " \t\"'”’»)]}*_`"
_MARKUP = re.compile(r"[*_#:：`\\]+|[\u2600-\u27bf\U0001f000-\U0001faff\ufe0f]")
_NUMBERING = re.compile(r"^(?:\d{1,2}(?:\.\d{1,2})*[.)]?|[IVX]{1,5}[.)]|[A-H][.)])\s+")
_LINKED = re.compile(
    r"\[(?P<text>(?:[^\[\]\n]|\[[^\[\]\n]*\]){0,400})\]\((?:<(?P<angle>[^<>\n]{1,2000})>|(?P<plain>(?:[^()\s]|\([^()\s]*\)){1,2000}))(?:\s+[\"'][^\"'\n]*[\"'])?\)"
)
_ANGLED = re.compile(r"<((?:https?|ftp)://[^<>\n]{1,2000})>")
_BARE = re.compile(r"(?:http|ftp|www\.)(?:(?<=www\.)|s?://)[^\s<>\"“”|]{1,2000}")
_BRACKETS = {")": "(", "]": "[", "}": "{", "）": "（", "」": "「", "』": "『", "】": "【"}
_EDGE = " \t\n\r.,;:—–-|\\*_\"'“”‘’«»<>"


def read(text: str, page: Page, settings: CitationSettings, start: int = 0) -> ReferenceList:
    """Find a document's reference lists."""
    entries: list[Entry] = []
    headed: list[Range] = []
    for first, heading, level, weak in _headed(text, page, settings):
        if headed and heading < headed[-1][1]:
            continue
        found, stop = _entries(text, first, _section_end(page, first, level), weak)
        if found:
            entries += found
            headed.append((heading, stop))
    regions = list(headed)
    for definition in page.definitions:
        if not _inside(definition.start, headed) and _NUMBER.fullmatch(definition.label):
            entries.append(_entry(text, definition.start, definition.end, definition.label, footnote=False))
            regions.append((definition.start, definition.end))
    for note, stretch in _footnotes(text, page):
        if not _inside(stretch[0], headed):
            entries.append(note)
            regions.append(stretch)
    if not any(entry.label is not None and not entry.footnote for entry in entries):
        for run, stretch in _unheaded(text, start, list(_merged(regions))):
            entries += run
            regions.append(stretch)
    entries.sort(key=lambda entry: entry.start)
    return ReferenceList(tuple(entries), tuple(_merged(regions)))


def _merged(regions: Iterable[Range]) -> Iterator[Range]:
    last: Range | None = None
    for start, end in sorted(regions):
        if last and start <= last[1]:
            last = (last[0], max(last[1], end))
        else:
            if last:
                yield last
            last = (start, end)
    if last:
        yield last


def _inside(position: int, regions: list[Range]) -> bool:
    """Whether a place lies in one of these ordered, disjoint ranges."""
    index = bisect_right(regions, (position, sys.maxsize)) - 1
    return index >= 0 and position < regions[index][1]


def is_list_name(line: str, settings: CitationSettings) -> tuple[bool, bool]:
    """Whether a heading or line names a reference list, and whether the name alone is weak evidence of one."""
    name = " ".join(_NUMBERING.sub(" ", _MARKUP.sub(" ", line).strip()).split()).casefold()
    if not name or len(name) > 60:
        return False, False
    name = re.sub(r"\s*[(（][^()（）]*[)）]$", "", name)
    if name in settings.weak_list_headings:
        return True, True
    if name in settings.list_headings:
        return True, False
    words = re.split(r"[\s/&,]+", name)
    known = len(words) > 1 and all(word in settings.list_heading_words for word in words)
    return known and any(word in settings.list_headings for word in words), False


def _headed(text: str, page: Page, settings: CitationSettings) -> Iterator[tuple[int, int, int, bool]]:
    """Where a list may begin: (first code point after its heading line, start of the heading, level, weak)."""
    for block in page.blocks:
        if block.kind == "cell" or block.kind == "footnote":
            continue
        line_end = text.find("\n", block.start, block.end)
        stop = block.end if line_end < 0 or block.kind == "heading" else line_end
        if stop - block.start > 120:
            continue
        named, weak = is_list_name(page.view[block.start : stop], settings)
        if named:
            after = text.find("\n", stop)
            yield (after + 1 if after >= 0 else len(text)), block.start, block.level, weak


def _section_end(page: Page, first: int, level: int) -> int:
    """Where the section ends: the next heading that is not below the list's own."""
    position = bisect_left(page.blocks, first, key=lambda block: block.start)
    for block in page.blocks[position:]:
        if block.kind == "heading" and (level == 0 or block.level <= level):
            return block.start
    return len(page.view)


def _lines(text: str, start: int, end: int) -> Iterator[Range]:
    while start < end:
        stop = text.find("\n", start, end)
        stop = end if stop < 0 else stop
        yield start, stop
        start = stop + 1


@dataclass(slots=True)
class _Open:
    """An entry while its lines are read; `joined` if its first line may go on with the sentence above."""

    label: str | None
    footnote: bool
    start: int
    body: int
    end: int
    dotted: bool = False
    joined: bool = False


def _entries(text: str, start: int, end: int, weak: bool) -> tuple[list[Entry], int]:
    """Entries between two places, and where the list ends (what follows is prose again)."""
    found: list[_Open] = []
    blank, prose, stop = False, 0, end
    for first, last in _lines(text, start, end):
        line = text[first:last]
        if not line.strip(" \t>"):
            blank = True
            continue
        if _RULE.match(line) or (_HEADING_LINE.match(line) and first > start):
            if found and _RULE.match(line):
                stop = first
                break
            blank = True
            continue
        if _TABLE_RULE.fullmatch(line) or (not found and _SETEXT.match(line)):
            continue
        opened = _opened(first, line)
        current = found[-1] if found else None
        if opened is not None and opened.label is None and current is not None and current.label is not None:
            opened = None if line[:2].isspace() else opened  # an indented bullet belongs to the numbered entry above
        if opened is not None:
            opened.end = last
            found.append(opened)
        elif current is None:
            prose += 1
            if prose > 1 or len(line) > 300:
                break
            if _looks_like_entry(line):
                found.append(_Open(None, False, first, first, last))
        elif _continues(text, current, line, blank):
            current.end = last
        elif (
            _looks_like_entry(line)
            and (current.label is None or _ADDRESS_IN.search(line))
            and not _MARK_IN_PROSE.search(line)
        ):
            if current.label is not None and not _ADDRESS_IN.search(text[current.body : current.end]):
                current.end = last
            else:
                found.append(_Open(None, False, first, first, last))
        else:
            stop = first
            break
        blank = False
    entries = _renumbered(
        [_entry(text, o.start, o.end, o.label, footnote=o.footnote, body=o.body) for o in found], found
    )
    if not entries or (weak and 2 * sum(map(_is_reference, entries)) < len(entries)):
        return [], end
    return entries, stop


def _is_reference(entry: Entry) -> bool:
    return bool(entry.url or entry.doi or _CITED_YEAR.search(entry.body))


def _opened(first: int, line: str) -> _Open | None:
    """The entry that a line begins, or None."""
    row = _TABLE_ROW.match(line)
    if row:
        return _Open(row.group("number"), False, first + len(line) - len(line.lstrip(" \t>")), first + row.end(), first)
    match = _LABEL.match(line)
    if match:
        begin = first + len(line) - len(line.lstrip(" \t>"))
        label = next(
            (match.group(g) for g in ("bracket", "double", "lens", "wide", "paren", "dot", "sup") if match.group(g)), ""
        ).strip()
        label = label.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789"))
        body = first + match.end()
        if match.group("anchor") and "://" in match.group("anchor"):
            body = first + match.start("anchor")
        if match.group("double") and not line[match.end() :].strip():
            return None  # a marker alone on its line
        if match.group("address"):
            body = first + match.start("address")
        if match.group("note"):
            return _Open(label, True, begin, body, first)
        if _NUMBER.fullmatch(label) and not (match.group("dot") and int(re.sub(r"\D", "", label)) > 1500):
            return _Open(label, False, begin, body, first, dotted=bool(match.group("dot")))
    bullet = _BULLET.match(line)
    if bullet:
        return _Open(None, False, first + len(bullet.group("indent")), first + bullet.end(), first)
    return None


def _continues(text: str, current: _Open, line: str, blank: bool) -> bool:
    """Whether a line that opens nothing goes on with the entry above it."""
    if not text[current.body : current.end].strip(_EDGE):
        return True
    if blank:
        return line[:2].isspace() and current.label is not None
    return current.label is not None or not _new_line_entry(text, current, line)


def _new_line_entry(text: str, current: _Open, line: str) -> bool:
    """Whether an unnumbered line right below an unnumbered entry is an entry of its own: both have an address."""
    return bool(_ADDRESS_IN.search(line) and _ADDRESS_IN.search(text, current.body, current.end))


def _looks_like_entry(line: str) -> bool:
    return bool(_ADDRESS_IN.search(line) or _CITED_YEAR.search(line[:200]))


def _renumbered(entries: list[Entry], opened: list[_Open]) -> list[Entry]:
    """Markdown lists may number every item `1.`; such entries count by position."""
    dotted = [o.label for o in opened if o.dotted]
    if len(dotted) > 1 and len(dotted) == len(entries) and set(dotted) == {dotted[0]}:
        first = int(dotted[0] or 1)
        return [replace(entry, label=str(first + position)) for position, entry in enumerate(entries)]
    return entries


def _entry(text: str, start: int, end: int, label: str | None, *, footnote: bool, body: int | None = None) -> Entry:
    whole = text[start:end].rstrip(" \t\n\r\\")
    end = start + len(whole)
    if body is None:
        match = _LABEL.match(text, start, end)
        body = match.end() if match else start
    words = text[min(body, end) : end]
    url, title = _address_and_title(words)
    dois = find_dois(words) if "10." in words or "doi" in words else []
    return Entry(label, footnote, start, end, whole, words, url, dois[0].doi if dois else None, title)


def _address_and_title(body: str) -> tuple[str | None, str | None]:
    """The first address of an entry, and its title: the link's text, else the words before or after the address."""
    linked = _LINKED.search(body)
    if linked:
        address = linked.group("angle") or linked.group("plain")
        words = linked.group("text").strip(_EDGE)
        if "://" in address or address.startswith("www."):
            if not words or "://" in words or words.isdigit():
                words = _words(body[: linked.start()]) or _words(body[linked.end() :])
            return address.strip(), words or None
    angled = _ANGLED.search(body)
    if angled:
        return angled.group(1).strip(), _words(body[: angled.start()]) or _words(body[angled.end() :]) or None
    bare = _BARE.search(body)
    if bare:
        address = _trimmed(bare.group())
        after = body[bare.start() + len(address) :]
        return address, _words(body[: bare.start()]) or _words(after) or None
    return None, _words(body) or None


def _words(text: str) -> str:
    words = " ".join(re.sub(r"[*_`|]+", " ", text).split()).strip(_EDGE)
    for opening, closing in ("()", "[]"):
        if words.endswith(opening):
            words = words[:-1].rstrip(_EDGE)
        if words.startswith(closing):
            words = words[1:].lstrip(_EDGE)
    return words


def _trimmed(address: str) -> str:
    """An address without the punctuation that ends the sentence it stands in; balanced brackets stay."""
    while address:
        last = address[-1]
        opening = _BRACKETS.get(last)
        unbalanced = opening is not None and address.count(last) > address.count(opening)
        if not unbalanced and last not in ".,;:!?*_'\\，。；：、！？":
            break
        address = address[:-1]
    return address


def _footnotes(text: str, page: Page) -> Iterator[tuple[Entry, Range]]:
    """Footnote definitions that stand outside every headed list: the blocks of one label are one entry."""
    blocks = [block for block in page.blocks if block.kind == "footnote"]
    position = 0
    while position < len(blocks):
        last = position
        while last + 1 < len(blocks) and blocks[last + 1].label == blocks[position].label:
            last += 1
        start = text.rfind("[^", 0, blocks[position].start)
        start = blocks[position].start if start < 0 or blocks[position].start - start > 200 else start
        end = blocks[last].end
        yield _entry(text, start, end, blocks[position].label, footnote=True, body=blocks[position].start), (start, end)
        position = last + 1


def _unheaded(text: str, start: int, regions: list[Range]) -> Iterator[tuple[list[Entry], Range]]:
    """Runs of numbered lines that name addresses, without a heading: `[1] Title. https://…`."""
    run: list[_Open] = []
    above = ""  # the line of prose right above, if there is one
    for first, last in _lines(text, start, len(text)):
        line = text[first:last]
        if not line.strip():
            above = ""
            continue
        opened = _opened(first, line) if not _inside(first, regions) else None
        if opened is not None and opened.label is not None and not (opened.footnote or _cites_in_prose(line, above)):
            opened.end = last
            opened.joined = not run and _is_broken_off(above) and not opened.dotted
            run.append(opened)
            above = ""
        elif run and opened is None and _goes_on(text, run[-1], line):
            run[-1].end = last
        else:
            yield from _kept_run(text, run, at_end=False)
            run, above = [], line
    yield from _kept_run(text, run, at_end=True)


def _cites_in_prose(line: str, above: str) -> bool:
    """Whether a line begins with a linked number that is a marker: hard-wrapped prose, or a number as the subject."""
    linked = _LINKED_NUMBER.match(line)
    return linked is not None and bool(_is_paragraph(above) or _SENTENCE_GOES_ON.match(line, linked.end()))


def _is_paragraph(line: str) -> bool:
    return bool(line) and not (_HEADING_LINE.match(line) or _RULE.match(line) or _TABLE_LINE.match(line))


def _is_broken_off(line: str) -> bool:
    """Whether a line of prose ends in the middle of a sentence."""
    return _is_paragraph(line) and line.rstrip(_CLOSING)[-1:] not in _STOPS


def _goes_on(text: str, current: _Open, line: str) -> bool:
    """Whether a line below an entry without an address brings it."""
    return bool(_ADDRESS_IN.search(line) and not _ADDRESS_IN.search(text, current.body, current.end))


def _kept_run(text: str, run: list[_Open], *, at_end: bool) -> Iterator[tuple[list[Entry], Range]]:
    """The run as entries, if it is a list and no prose that begins with numbers or markers."""
    dotted = any(opened.dotted for opened in run)
    if len(run) < 2 and (dotted or not (run and at_end) or run[0].joined):
        return
    if dotted and not at_end:
        return
    entries = _renumbered([_entry(text, o.start, o.end, o.label, footnote=False, body=o.body) for o in run], run)
    if all((entry.url or entry.doi) and not _CITES.search(entry.body) for entry in entries):
        yield entries, (entries[0].start, entries[-1].end)
