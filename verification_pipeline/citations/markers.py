"""Marker tokens of a page: every style that cites, and what only looks like one.

A token says where it stands, its style, and the labels it names; whether a label has a source is `binding`'s question.
Tokens are found in the page's `view` (code and addresses are masked there), so their places are the document's.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from verification_pipeline.citations.markdown import Page
from verification_pipeline.config import Citations as CitationSettings


class Target(NamedTuple):
    """One cited thing of a token: its label as written (a number, an id, an address) and the locator beside it."""

    label: str
    locator: str | None = None


class Token(NamedTuple):
    """A marker-like token. `refused` says why it is no citation, `keeps_text` that its words belong to the
    sentence, `detached` that a superscript stands on no word."""

    start: int
    end: int
    kind: str
    targets: tuple[Target, ...]
    refused: str | None = None
    address: str | None = None
    keeps_text: bool = False
    detached: bool = False


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_DASH = "-–—−‐‑~"
_SCAN = re.compile(  # begins with one set of signs: so the scan skips what cannot begin a match
    r"[\[［【⁰¹²³⁴-⁹](?:(?<=\[)(?:\[(?P<wiki>[^\[\]\n]{1,300})\]\]|(?P<bracket>[^\[\]【】\n]{1,160})\])"
    r"|(?<=［)(?P<wide>[^［］\[\]\n]{1,80})］"
    r"|(?<=【)(?P<lens>[^【】\[\]\n]{1,120})】"
    r"|(?P<sup>(?<=[⁰¹²³⁴-⁹])[⁰¹²³⁴-⁹]*(?:[,·⁻˒][ ]?[⁰¹²³⁴-⁹]+)*))"
)
_ITEM = re.compile(rf"\^?\#?(?P<low>\d{{1,4}})(?:\s*[{_DASH}]\s*\^?(?P<high>\d{{1,4}}))?")
_COLON_LOCATOR = re.compile(r"(?P<label>\d{1,4}):\s*(?P<locator>\d[\d,–-]*)")
_LOCATOR = re.compile(
    r"(?:pp?|s|page|pages|seiten?|p[áa]gs?|ch|chap|chapter|sec|sect|section|§+|figs?|figure|tables?|tab|paras?|art|vol|no|lines?"
    r"|ll?|fn|n|slide|app|appendix|eq|kap|abb|anm|rn|rz|lemma|thm|theorem|prop|def)\.?\s?[\w.:–-]+(?:\s?ff?\.?)?"
    r"|(?:at|auf)\s\d+|\d+:\d+(?::\d+)?|ff?\.|passim|[\"“„«].{1,80}[\"”“»]",
    re.IGNORECASE,
)
_PREFIX = re.compile(
    r"(?:cite|citation|cit|refs?|references?|sources?|src|docs?|documents?|see(?:\s+also)?|cf|e\.g|siehe|vgl|quellen?|voir)"
    r"\b\.?,?\s*[:#]?\s*",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"\s*(?:[,;，；、]|\s(?:and|und|et|y|&|и)\s)\s*")
_DASHED = re.compile(r"[\]】］]\s?[-–—]\s?[\[【［]")
_YEAR_ALONE = re.compile(r"[(\[](?:1[5-9]|20)\d\d[a-z]?[)\]]")
_SUPERSCRIPT_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻·˒", "0123456789-,,")
_LEAK = re.compile(
    r"\ue200(?:[^\ue200\ue201\n\[【]|\[(?![\[^]?\d)){0,400}\ue201"
    r"|\ue200[a-z_]{0,20}(?:\ue202[\w#:-]{1,80})*"  # never closed: its name and fields, not the sentence behind them
    r"|[\ue200-\ue20f]+"
    r"|(?:\bcite)?(?:turn\d{1,3}(?:search|view|fetch|news|image|file|academia|finance|sports|forecast|time|maps|product|reddit"
    r"|msearch|open)\d{1,3})+"
    r"|:?contentReference\[oaicite:\d{1,4}\](?:\{index=\d{1,4}\})?"
    r"|\[oaicite:\d{1,4}\]|oai_citation:\d{1,4}[‡†]?[\w./-]{0,200}"
    r"|\[cite_start\]|\[/?span_\d{1,4}\](?:\((?:start|end)_span\))?"
)
_LEAK_HINTS = ("oai", "cite_", "span_")
_TURN = re.compile(r"turn\d")
_PRIVATE = re.compile(r"[\ue200-\ue20f]")
_FORMULA = re.compile(
    r"[$\\](?:(?<=\$)(?:(?<!\$\$)\$[^$]{1,4000}\$\$(?!\$)|(?<![\\$\w]\$)(?![\s\d$])[^$\n]{1,300}(?<![\s\\])\$(?![\d$]))"
    r"|(?<=\\)(?:\((?:(?!\\\)).){1,300}\\\)|\[\s(?:(?!\\\]).){1,4000}\s\\\]))",
    re.DOTALL,
)
_THREE_WORDS = re.compile(r"[^\W\d_]{2,},?\s[^\W\d_]{2,},?\s[^\W\d_]{2,}")
_LINK_TEXT = re.compile(rf"[\[(\s^#]*(?P<list>\d{{1,4}}(?:\s*[,;{_DASH}]\s*\d{{1,4}})*)[\])\s]*")
_WORD_BEFORE = re.compile(r"(?<!\w)[^\W\d_]\w*$")
_LETTERS_BEFORE = re.compile(r"[^\W\d_]+$")
_LABELLED = re.compile(
    r"(?:\b(?:[Ee]qn?s?\.?|[Ee]quations?|Figs?\.|Figures?|Tables?|Arts?\.|Articles?|Artikel|Sections?|[Ii]nterval)|§)\s?$"
)
_LONGEST_LABEL = 12
_PARAGRAPH_OF_LAW = re.compile(r"(?:\w\(\w{1,4}\)|§\s?\d+)(?:\s?(?:,|and|or|to|und|oder|et|y)\s?(?:\(\w{1,4}\))?)*\s?$")
_RATIO = re.compile(
    r"\b(?:ratios?|scale|diluted|dilution|mixed|mixture|odds|proportions?|maßstab|verhältnis|rapport|aspect)\b[^.]{0,20}$",
    re.IGNORECASE,
)
_INDEXED = _words(
    "array arr args argv vec vector buf buffer table list row col column grid matrix dict map tuple index idx data"
    " items foo bar values result results stack queue heap memo cache lst df tensor tab"
)
_ALWAYS_INDEXED = _words("array arr args argv vec buf dict tuple idx foo bar lst df tensor")
_POWERED = _words("sec mol sin cos tan log exp var")
_NAME = r"(?<!\w)[A-ZÀ-ÖØ-ÞА-ЯΑ-Ω][\w'’‐-]{1,40}+"
_AUTHORS = (
    rf"{_NAME}(?:\s{_NAME}){{0,2}}(?:,?\s(?:and|&|und|et|y|и)\s{_NAME})?(?:,?\s(?:et\s+al\.?|и\sдр\.|u\.\s?a\.))?"
)
_AUTHOR_YEAR = re.compile(
    rf"(?:(?:see|see also|e\.g\.|cf\.|vgl\.|siehe),?\s)?(?P<names>{_AUTHORS})(?:,\s?|\s)"
    r"\(?(?P<year>(?:1[5-9]|20)\d\d[a-z]?)\)?(?:\s?[,:]\s?(?P<locator>(?:pp?\.\s?)?[\d–-]+))?(?P<more>(?:,\s?(?:(?:1[5-9]|20)\d\d)?[a-z]?)*)"
)
_PARENTHESIS = re.compile(r"\((?P<inner>[^()\n]{5,240}(?:1[5-9]|20)\d\d[a-z]?[^()\n]{0,40})\)")
_NARRATIVE = re.compile(
    rf"(?P<names>{_NAME}(?:\s(?:and|&|und|et|y|и)\s{_NAME}|(?:,\s{_NAME}){{1,3}},?\s(?:and|&|und)\s{_NAME})?(?:\s(?:et\s+al\.?|и\sдр\.))?)"
    r"(?:'s|’s)?\s(?P<mark>[\(\[](?P<year>(?:1[5-9]|20)\d\d[a-z]?)[\)\]])"
)
_SEVERAL_NAMES = re.compile(r"\bal\b|\s(?:and|&|und|et|y|и)\s")
_MONTHS = _words(
    "january february march april may june july august september october november december jan feb mar apr jun jul aug"
    " sep sept oct nov dec spring summer autumn fall winter since until before after during from between table figure"
    " fig version section chapter in by the januar februar märz mai juni juli oktober dezember"
)
_NUMBERED_PARENTHESIS = re.compile(
    r"(?<=[\w.,;:!?”\"’»)])\s?\((?P<list>\d{1,3}(?:\s*[,–-]\s*\d{1,3})*)\)(?=\s*(?:[.,;:)(]|$|\n))"
)


def scan(page: Page, text: str, settings: CitationSettings) -> list[Token]:
    """Every marker-like token of the page, in document order, none overlapping another."""
    view = page.view
    tokens = [*_link_tokens(page, view)]
    if any(mark in view for mark in ("(1", "(2", "[1", "[2", " 1", " 2")):
        tokens += _author_year_tokens(view)
    if _may_leak(view):
        tokens += [Token(m.start(), m.end(), "leaked-token", (Target(m.group()),)) for m in _LEAK.finditer(view)]
    found = [token for match in _SCAN.finditer(view) if (token := _bracket_token(match, text, settings)) is not None]
    tokens += _joined_ranges(found, view, settings) if _DASHED.search(view) else found
    tokens += _sup_tokens(page, view, settings)
    return [_with_backslash(token, text) for token in _disjoint(tokens)]


def _may_leak(view: str) -> bool:
    if any(hint in view for hint in _LEAK_HINTS) or ("turn" in view and _TURN.search(view)):
        return True
    return not view.isascii() and _PRIVATE.search(view) is not None


def _with_backslash(token: Token, text: str) -> Token:
    """`\\[7\\]` begins with its backslash."""
    escaped = token.kind == "bracket" and text[token.start - 1 : token.start] == "\\"
    return token._replace(start=token.start - 1) if escaped and "\\]" in text[token.start : token.end] else token


def numbered_parentheses(view: str, settings: CitationSettings) -> list[Token]:
    """Tokens `(7)`: only for documents that number their citations so."""
    return [
        Token(match.start("list") - 1, match.end(), "parenthesis", targets)
        for match in _NUMBERED_PARENTHESIS.finditer(view)
        if (targets := _number_list(match.group("list"), settings)) is not None
        and not _LABELLED.search(view, max(0, match.start() - 16), match.start())
        and not _PARAGRAPH_OF_LAW.search(view, max(0, match.start() - 60), match.start())
    ]


def _disjoint(tokens: Iterable[Token]) -> list[Token]:
    """Tokens in order; of two that overlap a linked number stays, else the longer.

    A link to a page is no mark but words: a mark in its text stays too, a name with its year is the link's.
    """
    kept: list[Token] = []
    reach = linked = words = 0
    for token in sorted(tokens, key=lambda t: (t.start, -t.end)):
        if token.keeps_text:
            kept.append(token)
            words = token.end
        elif token.start < words and token.kind in ("author-year", "name-year"):
            continue
        elif token.start >= reach:
            kept.append(token)
            reach = token.end
            linked = len(kept) if token.kind == "link" else linked
        elif token.kind == "link":
            while len(kept) > linked and kept[-1].end > token.start:
                kept.pop()
            kept.append(token)
            reach, linked = token.end, len(kept)
    return kept


def _link_tokens(page: Page, view: str) -> Iterator[Token]:
    """Links whose text is a number, and links to pages that may be sources."""
    for link in page.links:
        if link.label:
            continue
        match = _LINK_TEXT.fullmatch(view, link.text_start, link.text_end)
        if match:
            labels = re.findall(r"\d+", match.group("list"))
            yield Token(link.start, link.end, "link", tuple(map(Target, labels)), address=link.address)
        elif "://" in link.address and link.text_end > link.text_start:
            yield Token(link.start, link.end, "link", (Target(link.address),), address=link.address, keeps_text=True)


def _bracket_token(match: re.Match[str], text: str, settings: CitationSettings) -> Token | None:
    group = match.lastgroup
    start, end = match.span()
    inner = match.group(group) if group else ""
    if group == "bracket" or group == "wide":
        return _numbered(start, end, inner, settings)
    if group == "wiki":
        return _wikilink(start, end, text)
    if group == "lens":
        label, _, locator = inner.partition("†")
        colon = re.fullmatch(r"\s*(\d{1,4}):(\d{1,4})\s*", label)
        if colon and locator:
            return Token(start, end, "lens", (Target(colon.group(1), f"{colon.group(2)}†{locator}"),))
        targets = _number_list(label, settings)
        if targets is None:
            return None
        if not targets:
            return Token(start, end, "lens", (Target(label),), refused="no list of citation numbers")
        return Token(start, end, "lens", tuple(t._replace(locator=locator or t.locator) for t in targets))
    return _superscript(start, end, match[0].translate(_SUPERSCRIPT_DIGITS), text, settings)


def _numbered(start: int, end: int, inner: str, settings: CitationSettings) -> Token | None:
    """`[7]`, `[1, 2]`, `[3-5]`, `[1, p. 5]`, `[^7]`, `[^name]`, `[cite: 1]`."""
    body = inner.strip()
    if body.isdigit() and len(body) <= 4:
        return Token(start, end, "bracket", (Target(body),))
    if body[:1] == "^":
        label = body[1:].strip()
        if re.fullmatch(r"\d{1,4}", label) or re.fullmatch(r"[^\s\[\]^,;]{1,80}", label):
            return Token(start, end, "footnote", (Target(label),))
        targets = _number_list(body, settings)
        return Token(start, end, "footnote", targets) if targets else None
    if not any(map(str.isdigit, body)):
        return None
    prefix = _PREFIX.match(body)
    targets = _number_list(body[prefix.end() :] if prefix else body, settings)
    if targets is None:
        return None
    if not targets:
        return Token(start, end, "bracket", (Target(body),), refused="no list of citation numbers")
    return Token(start, end, "bracket", targets)


def _number_list(inner: str, settings: CitationSettings) -> tuple[Target, ...] | None:
    """Targets of a list of numbers and ranges with locators; None when it is none, () when it cannot be one."""
    targets: list[Target] = []
    for piece in _SEPARATOR.split(inner.strip()):
        piece = piece.strip()
        item = _ITEM.fullmatch(piece)
        if item and item.group("high"):
            low, high = int(item.group("low")), int(item.group("high"))
            if not low < high <= low + settings.longest_range:
                return ()
            targets += [Target(str(n)) for n in range(low, high + 1)]
        elif item:
            if targets and targets[-1].locator and targets[-1].locator.lower().startswith("pp"):
                targets[-1] = targets[-1]._replace(locator=f"{targets[-1].locator}, {piece}")
            else:
                targets.append(Target(item.group("low")))
        elif colon := _COLON_LOCATOR.fullmatch(piece):
            targets.append(Target(colon.group("label"), colon.group("locator")))
        elif targets and _LOCATOR.fullmatch(piece):
            before = targets[-1].locator
            targets[-1] = targets[-1]._replace(locator=f"{before}, {piece}" if before else piece)
        else:
            return None
    return tuple(targets) if targets else None


def _wikilink(start: int, end: int, text: str) -> Token | None:
    if text[start - 1 : start] == "!":
        return None
    inner = text[start + 2 : end - 2].replace("\\|", "|").replace("\n", " ")
    name, _, _ = inner.partition("|")
    label, _, anchor = name.partition("#")
    label, anchor = label.strip(" \\"), anchor.strip(" \\")
    if not label:
        return None
    return Token(start, end, "wikilink", (Target(label, anchor or None),))


def _superscript(start: int, end: int, inner: str, text: str, settings: CitationSettings) -> Token | None:
    targets = _number_list(inner.strip(), settings)
    if not targets:
        return None
    signed = text[start - 1 : start] in ("⁺", "⁻") or text[end : end + 1] in ("⁺", "⁻")
    refused = "power" if signed or _is_power(text, start) else None
    return Token(start, end, "superscript", targets, refused=refused, detached=_is_detached(text, start))


def _is_detached(text: str, start: int) -> bool:
    return text[start - 1 : start] in tuple(' .,;:!?)”"»')


def _is_power(text: str, start: int) -> bool:
    """Whether a superscript at `start` stands on a digit, a unit or a single letter: m², 10⁶, x², not word¹."""
    before = text[start - 1 : start]
    if not before or before.isspace():
        return not before
    if before.isdigit():
        return True
    letters = _LETTERS_BEFORE.search(text, max(0, start - 24), start)
    if not letters:
        return False
    return (len(letters.group()) <= 2 and letters.group() < "\u2e80") or letters.group() in _POWERED


def _sup_tokens(page: Page, view: str, settings: CitationSettings) -> Iterator[Token]:
    """`<sup>7</sup>`, with the tags as part of the marker."""
    for start, end in page.superscripts:
        inner = view[start:end].strip().strip("[]()^").strip()
        bracketed = "[" in view[start:end]
        targets = _number_list(inner, settings) if inner and inner[0].isdigit() else None
        if targets:
            refused = "power" if not bracketed and _is_power(view, start) else None
            detached = bracketed or _is_detached(view, start)
            yield Token(start, end, "superscript", targets, refused=refused, detached=detached)


def _joined_ranges(tokens: list[Token], view: str, settings: CitationSettings) -> Iterator[Token]:
    """`[5]–[9]` is one range."""
    position = 0
    while position < len(tokens):
        token = tokens[position]
        following = tokens[position + 1] if position + 1 < len(tokens) else None
        if (
            following is not None
            and following.kind == token.kind
            and len(token.targets) == len(following.targets) == 1
            and 0 < following.start - token.end <= 3
            and view[token.end : following.start].strip() in tuple("-–—")
            and token.targets[0].label.isdigit()
            and following.targets[0].label.isdigit()
        ):
            low, high = int(token.targets[0].label), int(following.targets[0].label)
            if low < high <= low + settings.longest_range:
                targets = tuple(Target(str(n)) for n in range(low, high + 1))
                yield Token(token.start, following.end, token.kind, targets)
                position += 2
                continue
        yield token
        position += 1


def _author_year_tokens(view: str) -> Iterator[Token]:
    for match in _NARRATIVE.finditer(view) if _YEAR_ALONE.search(view) else ():
        if match.group("names").split()[0].casefold() not in _MONTHS:
            label = f"{match.group('names')} {match.group('year')}"
            kind = "author-year" if _SEVERAL_NAMES.search(match.group("names")) else "name-year"
            yield Token(match.start("mark"), match.end("mark"), kind, (Target(label),))
    for match in _PARENTHESIS.finditer(view):
        targets: list[Target] = []
        for piece in re.split(r"\s*;\s*", match.group("inner").strip()):
            item = _AUTHOR_YEAR.fullmatch(piece)
            if item is None or item.group("names").split()[0].casefold() in _MONTHS:
                break
            targets.append(Target(f"{item.group('names')} {item.group('year')}", item.group("locator")))
        else:
            yield Token(match.start(), match.end(), "author-year", tuple(targets))


def checked(tokens: Sequence[Token], text: str) -> list[Token]:
    """The tokens of the prose, those refused that stand where no citation can: a formula, an index, a label, a ratio.

    Whether numbers stick to words, as in `quake[1]`, is a document's style, and no sign of an index by itself.
    """
    singles = [t for t in tokens if t.kind in ("bracket", "wikilink") and t.targets[0].label.isdigit()]
    attached = sum(not text[t.start - 1 : t.start].isspace() for t in singles)
    attached_style = attached * 2 >= len(singles) > 2
    formulas = _formulas(text)
    return [
        token._replace(refused=reason)
        if token.refused is None and (reason := _refusal(token, text, attached_style, formulas))
        else token
        for token in tokens
    ]


def _formulas(text: str) -> list[tuple[int, int]]:
    """Mathematics as TeX writes it: `$x$`, `$$x$$`, `\\(x\\)`, `\\[ x \\]`; prices and words make none."""
    if "$" not in text and "\\(" not in text and "\\[" not in text:
        return []
    return [match.span() for match in _FORMULA.finditer(text) if not _THREE_WORDS.search(match.group())]


def _in_formula(token: Token, formulas: Sequence[tuple[int, int]]) -> bool:
    index = bisect_right(formulas, (token.start, token.end)) - 1
    return index >= 0 and token.end <= formulas[index][1]


def _refusal(token: Token, text: str, attached_style: bool, formulas: Sequence[tuple[int, int]]) -> str | None:
    if formulas and not token.keeps_text and token.kind != "link" and _in_formula(token, formulas):
        return "formula"
    numeric = token.targets[0].label.isdigit()
    if token.kind not in ("bracket", "wikilink") or not numeric:
        return None
    before = text[max(0, token.start - 40) : token.start]
    previous = before[-1:]
    if previous.isalnum() or (previous in ("_", ")", "]") and before[-2:-1] not in ("", " ")):
        if previous == "]":
            return None
        word = _WORD_BEFORE.search(before)
        name = word.group() if word else ""
        lowered = name.casefold()
        letter = len(name) == 1 and name.isascii() and name.islower()
        if previous == "_" or "_" in name or lowered in _ALWAYS_INDEXED:
            return "index"
        if (letter or lowered in _INDEXED) and not attached_style:
            return "index"
        following = text[token.end : token.end + 1]
        if following.islower() and len(token.targets) > 1:
            return "chemical name"
        return None
    if _LABELLED.search(text, max(0, token.start - _LONGEST_LABEL), token.start):
        return "label"
    if token.targets[0].locator and _RATIO.search(before):
        return "ratio"
    return None
