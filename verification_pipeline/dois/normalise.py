"""Identifiers of works out of text and addresses: DOI, PubMed id and arXiv id, in one normal form each.

Pure text rules; nothing here asks a register whether the identifier exists (`sweep`), nor decides which work a
document cites (`mentions`). The scan is linear: an anchor (`10.dddd/`) starts it, every character is read once,
and no DOI is followed further than `_LONGEST` code points.

The nine rules for DOIs:

1. NFC, HTML unescaped, zero-width characters and soft hyphens dropped, dashes mapped to `-`, backslash escapes undone;
2. resolver addresses and `doi:` prefixes are not part of it; a shortDOI (`10/abc`) is no DOI name;
3. percent-decoded once; starts at `10.\\d{4,9}(.\\d+)*/`;
4. ends at white space, a quotation mark, `|`, a backtick, `^`, an unbalanced closing bracket, an HTML tag, or where
   a list of DOIs continues;
5. trailing `.,;:!?*_~'` and unbalanced brackets are not part of it, a balanced final `)` is;
6. in an address, query, fragment and `/full`, `/abstract`, `/pdf`, `/epdf`, `/meta` are not part of it;
7. lower case; `/v1`, `.v1`, `.pubN` stay (see `base_doi` for bioRxiv's `…v2`);
8. joined on the exact form, then on `loose_key`;
9. encoded by `doi_url`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from urllib.parse import quote

_LONGEST = 512
_LOOK_BACK = 300

_INVISIBLE = "\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff"
_ANCHOR = re.compile(
    rf"10(?:(?<![0-9.]10)|(?<=%[0-9A-Fa-f]{{2}}10))"
    rf"(?P<prefix>[{_INVISIBLE}]*\.[{_INVISIBLE}]*+(?:[0-9][{_INVISIBLE}]*+){{4,9}}"
    rf"(?:\.[0-9]{{1,9}}[{_INVISIBLE}]*+){{0,4}})(?:/|%2[Ff])"
)
_UNIT = re.compile(
    rf"(?P<invisible>[{_INVISIBLE}]+)"
    r"|(?P<entity>&(?:[A-Za-z][A-Za-z0-9]{1,8}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});)"
    r"|(?P<percent>%[0-9A-Fa-f]{2})"
    r"|\\(?P<escaped>[_%&#$()\[\]<>{}*.;:~+-])"
    r"|(?P<tag></?(?:a|abbr|article|b|blockquote|br|cite|code|dd|div|dl|dt|em|font|h[1-6]|hr|i|img|li|mark|ol|p|pre|q"
    r"|s|section|small|span|strong|sub|sup|table|tbody|td|th|thead|tr|u|ul)(?=[\s/>]))"
    r"|(?P<next>[,;&][ \t]*+(?:https?://|doi:|10\.[0-9]{4,9}(?:\.[0-9]{1,9}){0,4}/))"
    r"|(?P<query>\?(?=[A-Za-z_]{1,24}=))"
    r"|(?P<other>.)",
    re.DOTALL | re.IGNORECASE,
)
_PLAIN_RUN = re.compile(r"[A-Za-z0-9._/-]++")
_DASHES = dict.fromkeys(map(ord, "‐‑‒–−﹣－"), "-")
_LONG_DASHES = "—―"
_STOPS = frozenset('"|`^“”„‟«»‹›‘’‚‛「」『』《》〈〉【】（）［］，。；：、！？…')
_PAIRS = {")": "(", "]": "[", "}": "{", ">": "<"}
_TRAILING = ".,;:!?*_~'\\"
_POSSESSIVE = re.compile(r"'s$", re.IGNORECASE)
_GLUED_MARKER = re.compile(r"\[\d{1,4}\]$")
_ADDRESS = re.compile(r"://|www\.|[a-z0-9]\.[a-z]{2,12}/", re.IGNORECASE)
_RESOLVER = re.compile(r"(?:doi\.org|doi\.acm\.org)(?:/|%2f)$", re.IGNORECASE)
_PREPRINT_HOST = re.compile(r"\b(?:bio|med)rxiv\.org/", re.IGNORECASE)
_PREPRINT_TAIL = re.compile(r"v\d{1,3}(?:[./].*)?$")
_ADDRESS_TAIL = re.compile(
    r"(?:/(?:full|fulltext|full-text|abstract|abs|pdf|epdf|epub|pdfdirect|html|meta|summary|references|figures|"
    r"supplementary-material|suppl_file/.*|full/html|full/pdf|full\.pdf|download|text)|/)$"
)
_FILE_TAIL = re.compile(r"\.(?:pdf|html?|xml|full|abstract|short|full\.pdf)$")
_IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
_BIORXIV_VERSION = re.compile(r"^(10\.(?:1101|64898)/.*[0-9])v[0-9]{1,3}$")


@dataclass(frozen=True, slots=True)
class FoundDoi:
    """A DOI in a text: its normal form, and `raw` = text[start:end], the characters that spell it."""

    doi: str
    start: int
    end: int
    raw: str


@dataclass(frozen=True, slots=True)
class FoundId:
    """A PubMed or arXiv id in a text; `raw` = text[start:end]."""

    value: str
    start: int
    end: int
    raw: str


@dataclass(frozen=True, slots=True)
class _Character:
    """One character of a DOI, and where the text spells it; `literal`: written as itself, not as an escape."""

    value: str
    start: int
    end: int
    literal: bool


def find_dois(text: str) -> list[FoundDoi]:
    """Every DOI of a text in order of appearance, repeats included; offsets are code points."""
    found = []
    position = 0
    while anchor := _ANCHOR.search(text, position):
        doi = _read(text, anchor)
        if doi is None:
            position = anchor.end()
        else:
            found.append(doi)
            position = doi.end
    return found


def normalise_doi(raw: str) -> str | None:
    """The DOI that a field holds, in normal form; None for a sentinel, a shortDOI or anything else."""
    found = find_dois(raw.strip())
    return found[0].doi if found else None


def base_doi(doi: str) -> str | None:
    """The DOI without bioRxiv's or medRxiv's version suffix (rule 7), None if it has none."""
    matched = _BIORXIV_VERSION.match(doi)
    return matched[1] if matched else None


def loose_key(doi: str) -> str:
    """The key of the second join (rule 8): registers lose `<` and `>` of old serial DOIs."""
    return doi.replace("<", "").replace(">", "")


def doi_url(doi: str) -> str:
    """The address of a DOI (rule 9)."""
    return f"https://doi.org/{quote(doi, safe='')}"


def _read(text: str, anchor: re.Match[str]) -> FoundDoi | None:
    before = _run_before(text, anchor.start())
    in_address = _ADDRESS.search(before) is not None
    suffix = _suffix(text, anchor.end(), in_address, in_query=in_address and "?" in before)
    end = _trimmed(suffix)
    if in_address:
        end = _without_address_tail("".join(c.value for c in suffix[:end]), before)
        end = _trimmed(suffix[:end])
    kept = suffix[:end]
    if not any(character.value.isalnum() for character in kept):
        return None
    prefix = re.sub(f"[{_INVISIBLE}]", "", anchor["prefix"])
    name = f"10{prefix}/{''.join(character.value for character in kept)}"
    start, stop = anchor.start(), kept[-1].end
    return FoundDoi(unicodedata.normalize("NFC", name.lower()), start, stop, text[start:stop])


def _run_before(text: str, start: int) -> str:
    """What is written without a break before `start`: the head of an address, if the DOI stands in one."""
    first = start
    while first > max(0, start - _LOOK_BACK) and not (text[first - 1].isspace() or text[first - 1] in "\"'<>()[]|`"):
        first -= 1
    return text[first:start]


def _suffix(text: str, start: int, in_address: bool, in_query: bool) -> list[_Character]:
    """The characters from `start` up to where rule 4 or 6 ends the DOI."""
    stop = min(len(text), start + _LONGEST)
    plain = _PLAIN_RUN.match(text, start, stop)
    first = plain.end() if plain else start
    read = [_Character(text[at], at, at + 1, literal=True) for at in range(start, first)]
    depth = dict.fromkeys(_PAIRS.values(), 0)
    for character in _characters(text, first, stop):
        value = character.value
        if value.isspace() or value in _STOPS or unicodedata.category(value) in ("Cc", "Co", "Cn", "Cs"):
            break
        if _IDEOGRAPHS.match(value):
            break
        if in_address and character.literal and (value in "?#" or (in_query and value == "&")):
            break
        if value in depth:
            depth[value] += 1
        elif value in _PAIRS:
            if not depth[_PAIRS[value]]:
                break
            depth[_PAIRS[value]] -= 1
        read.append(character)
    return read


def _characters(text: str, start: int, stop: int) -> Iterator[_Character]:
    """Characters as meant (rules 1 and 3), ending before a tag, a query, or the next DOI of a list."""
    position = start
    while position < stop:
        unit = _UNIT.match(text, position)
        if unit is None or unit["tag"] or unit["next"] or unit["query"]:
            return
        first, position = position, unit.end()
        if unit["invisible"]:
            continue
        if unit["percent"]:
            escapes = _escapes(text, first, stop)
            if not escapes:
                return
            position = first + 3 * len(escapes)
            yield from _decoded(escapes, first)
        elif unit["entity"]:
            meant = unescape(unit["entity"])
            if meant == unit["entity"]:
                meant, position = "&", first + 1
            for value in meant.translate(_DASHES):
                if not re.match(f"[{_INVISIBLE}]", value):
                    yield _Character(value, first, position, literal=meant == "&")
        else:
            value = (unit["escaped"] or unit["other"]).translate(_DASHES)
            if value in _LONG_DASHES:
                if not text[position : position + 1].isdigit():
                    return
                value = "-"
            yield _Character(value, first, position, literal=not unit["escaped"])


def _escapes(text: str, start: int, stop: int) -> bytes:
    """The bytes of the percent escapes that follow each other from `start`."""
    values = bytearray()
    while start + 3 <= stop and text[start] == "%" and re.fullmatch("[0-9A-Fa-f]{2}", text[start + 1 : start + 3]):
        values.append(int(text[start + 1 : start + 3], 16))
        start += 3
    return bytes(values)


def _decoded(escapes: bytes, start: int) -> Iterator[_Character]:
    meant = escapes.decode("utf-8", "replace")
    at = start
    for value in meant:
        width = 3 * (len(value.encode()) if value != "\ufffd" else 1)
        mapped = value.translate(_DASHES)
        if not re.match(f"[{_INVISIBLE}]", mapped):
            yield _Character(mapped, at, min(at + width, start + 3 * len(escapes)), literal=False)
        at += width


def _trimmed(read: list[_Character]) -> int:
    """How many of the characters remain after rule 5."""
    word = "".join(character.value for character in read)
    end = len(word)
    excess = {opener: word.count(opener) - word.count(closer) for closer, opener in _PAIRS.items()}
    while end:
        last = word[end - 1]
        if excess.get(last, 0) > 0:
            excess[last] -= 1
            end -= 1
        elif last in _TRAILING:
            end -= 1
        elif last == "s" and end > 1 and _POSSESSIVE.search(word, end - 2, end):
            end -= 2
        elif last == "]" and (glued := _GLUED_MARKER.search(word, max(0, end - 6), end)):
            end = glued.start()
        else:
            break
    return end


def _without_address_tail(word: str, before: str) -> int:
    """How many characters of a DOI in an address are the DOI (rule 6)."""
    word = word.lower()
    if _PREPRINT_HOST.search(before) and (version := _PREPRINT_TAIL.search(word)):
        return version.start()
    end = len(word)
    if not _RESOLVER.search(before) and (file := _FILE_TAIL.search(word)):
        end = file.start()
    while tail := _ADDRESS_TAIL.search(word, 0, end):
        end = tail.start()
    return end


_PMID = re.compile(
    r"(?:\bPMID\b(?:\s?[:#=]|\s?\[|\])?|\bPubMed(?:\s?ID)?\s?:|pubmed\.ncbi\.nlm\.nih\.gov/|"
    r"ncbi\.nlm\.nih\.gov/(?:m/)?pubmed/|europepmc\.org/(?:article|abstract)/med/)[ \t]{0,3}"
    r"(?P<id>[0-9]{1,8})(?![0-9])",
    re.IGNORECASE,
)
_BARE_PMID = re.compile(r"0*([1-9][0-9]{0,7})(?:\.0+)?")
_ARXIV_ID = r"(?:[0-9]{4}\.[0-9]{4,5}|[a-z][a-z-]{1,12}(?:\.[A-Za-z]{2})?/[0-9]{7})"
_ARXIV = re.compile(
    rf"(?:\barxiv\s?:\s?|arxiv\.org/(?:abs|pdf|html|ps)/|alphaxiv\.org/abs/)(?P<id>{_ARXIV_ID})(?:v[0-9]{{1,3}})?(?![0-9])",
    re.IGNORECASE,
)
_ARXIV_DOI = re.compile(rf"10\.48550/arxiv\.(?P<id>{_ARXIV_ID})(?:v[0-9]{{1,3}})?")


def find_pmids(text: str) -> list[FoundId]:
    """Every PubMed id of a text that says it is one (`PMID 123`, an address at PubMed or Europe PMC)."""
    lower = text.lower()
    if not any(word in lower for word in ("pmid", "pubmed", "europepmc")):
        return []
    return [
        FoundId(found["id"].lstrip("0"), found.start("id"), found.end("id"), found["id"])
        for found in _PMID.finditer(text)
        if found["id"].strip("0")
    ]


def normalise_pmid(raw: str) -> str | None:
    """The PubMed id that a field holds, without leading zeros; None for `0` and anything else."""
    field = raw.strip()
    bare = _BARE_PMID.fullmatch(field)
    if bare:
        return bare[1]
    found = find_pmids(field)
    return found[0].value if found else None


def find_arxiv_ids(text: str) -> list[FoundId]:
    """Every arXiv id of a text that says it is one (`arXiv:…`, an address at arXiv), without its version."""
    lower = text.lower()
    if "arxiv" not in lower and "alphaxiv" not in lower:
        return []
    return [
        FoundId(found["id"].lower(), found.start("id"), found.end("id"), found["id"]) for found in _ARXIV.finditer(text)
    ]


def arxiv_doi(arxiv_id: str) -> str:
    """The DOI that DataCite registers for every arXiv paper."""
    return f"10.48550/arxiv.{arxiv_id}"


def arxiv_id_of(doi: str) -> str | None:
    """The arXiv id inside an arXiv DOI, None for any other DOI."""
    matched = _ARXIV_DOI.fullmatch(doi)
    return matched["id"] if matched else None
