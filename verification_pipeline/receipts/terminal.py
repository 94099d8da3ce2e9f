"""A receipt in a terminal: the checklist first, then the four tables, as rich renderables.

Documents and sources are hostile: control characters, escape sequences and directional overrides become visible
signs, and nothing of theirs is read as markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

_OUTCOMES = {"passed": "green", "warning": "yellow", "failed": "bold red", "skipped": "dim"}
_STATES = {"passed": "bold green", "failed": "bold red", "not-verified": "bold yellow"}
_ROWS = {
    "supported": "green",
    "verified": "green",
    "ok": "green",
    "partially-supported": "yellow",
    "unsupported": "red",
    "wrong-source": "red",
    "dangling": "red",
    "altered": "red",
    "not-found": "red",
    "retracted": "red",
    "expression-of-concern": "yellow",
    "corrected": "yellow",
}
_FINE = frozenset({"supported", "verified", "ok"})
_CELL = 160
_MOST_ROWS = 200


def render(receipt: Mapping[str, Any]) -> RenderableType:
    """A receipt as something a rich console prints."""
    return Group(*_parts(receipt))


def visible(words: object, limit: int = _CELL) -> str:
    """Words on one line, without anything that a terminal would obey; shortened to `limit` signs."""
    line = " ".join(str(words).split())
    shown = line if len(line) <= limit else line[: limit - 1] + "…"
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in shown)


def _worth_showing(rows: Sequence[Mapping[str, Any]], field: str) -> tuple[list[Mapping[str, Any]], str]:
    """All rows of a short table; of a long one those that are not fine. And what was left out, in words."""
    shown = list(rows)
    if len(shown) > _MOST_ROWS:
        shown = [row for row in rows if row[field] not in _FINE][:_MOST_ROWS]
    left = len(rows) - len(shown)
    return shown, f"{left} more rows are in the receipt (--json)" if left else ""


def _parts(receipt: Mapping[str, Any]) -> Iterator[RenderableType]:
    document = receipt["document"]
    yield Text.assemble(
        (visible(document["title"] or receipt["document_id"]), "bold"),
        f"  {visible(receipt['corpus'])}/{visible(receipt['document_id'])}\n",
        (receipt["state"], _STATES[receipt["state"]]),
        f"  receipt {receipt['id']}, {visible(receipt['created_at'])}",
    )
    if document["reason"]:
        yield Text(f"{document['status']}: {visible(document['reason'])}", style="yellow")
    yield _checklist(receipt["checks"])
    yield from _citations(receipt["cite_check"])
    yield from _quotes(receipt["quote_integrity"])
    yield from _works(receipt["retraction_sweep"])
    yield from _voices(receipt["independence"])


def _checklist(checks: Iterable[Mapping[str, Any]]) -> Table:
    table = _table("Ship gate", "check", "outcome", "what was found")
    for check in checks:
        outcome = check["outcome"]
        table.add_row(Text(check["name"]), Text(outcome, _OUTCOMES[outcome]), Text(visible(check["detail"], 400)))
    return table


def _citations(part: Mapping[str, Any]) -> Iterator[RenderableType]:
    counts = ("pairs", "auto_passed", "checked", "not_checked", "dangling", "sampled_for_llm")
    yield _heading("Citations", part, counts)
    table = _table(None, "#", "marker", "verdict", "claim", "evidence or reason")
    rows, left_out = _worth_showing(part["rows"], "verdict")
    for row in rows:
        verdict = row["verdict"] or row["outcome"]
        how = "" if row["checked"] or row["outcome"] != "auto-passed" else " (auto)"
        because = row["evidence"] or row["rationale"] or row["reason"] or ""
        table.add_row(
            str(row["pair_index"]),
            Text(visible(row["marker"], 24)),
            Text(verdict + how, _ROWS.get(verdict, "dim")),
            Text(visible(row["claim"])),
            Text(visible(because)),
        )
    if rows:
        yield table
    if left_out:
        yield Text(left_out, style="dim")


def _quotes(part: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield _heading("Quotations", part, ("quotes", "verified", "altered", "not_found", "not_checked", "misattributed"))
    table = _table(None, "source", "status", "quotation", "closest words or reason")
    rows, left_out = _worth_showing(part["rows"], "status")
    for row in rows:
        beside = row["closest_span"] or row["reason"] or row["found_in_note_id"] or ""
        table.add_row(
            Text(visible(row["note_id"] or "", 24)),
            Text(row["status"], _ROWS.get(row["status"], "dim")),
            Text(visible(row["quote"])),
            Text(visible(beside)),
        )
    if rows:
        yield table
    if left_out:
        yield Text(left_out, style="dim")


def _works(part: Mapping[str, Any]) -> Iterator[RenderableType]:
    counts = ("works", "dois_checked", "retracted", "concerns", "corrected", "unavailable", "unchecked")
    yield _heading("Cited works", part, counts)
    table = _table(None, "work", "status", "notice", "acknowledged")
    rows, left_out = _worth_showing(part["rows"], "status")
    for row in rows:
        notice = " ".join(filter(None, (row["date"], row["notice_url"], row["reason"])))
        table.add_row(
            Text(visible(row["doi"] or row["work_id"], 60)),
            Text(row["status"], _ROWS.get(row["status"], "dim")),
            Text(visible(notice)),
            "yes" if row["noted_in_document"] else "",
        )
    if rows:
        yield table
    if left_out:
        yield Text(left_out, style="dim")


def _voices(part: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield _heading("Independence", part, ("sources", "clusters", "effective_sources"))
    table = _table(None, "kind", "root", "members")
    for row in part["rows"]:
        members = ", ".join(visible(member, 40) for member in row["members"])
        table.add_row(row["kind"], Text(visible(row["root"], 40)), Text(visible(members)))
    if part["rows"]:
        yield table


def _heading(title: str, part: Mapping[str, Any], counts: Iterable[str]) -> Text:
    figures = ", ".join(f"{part[name]} {name.replace('_', ' ')}" for name in counts)
    return Text.assemble((f"\n{title}", "bold"), f"  {figures}")


def _table(title: str | None, *columns: str) -> Table:
    folded = (Column(column, overflow="fold") for column in columns)
    return Table(*folded, title=title, title_justify="left", title_style="bold", show_edge=False, pad_edge=False)
