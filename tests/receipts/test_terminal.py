from __future__ import annotations

import io

import orjson
from rich.console import Console

from tests.support.archive import Archive, run_info, storage_archive
from verification_pipeline import tables
from verification_pipeline.config import Settings
from verification_pipeline.receipts import assemble
from verification_pipeline.receipts.terminal import render, visible


def shown(archive: Archive) -> list[str]:
    pages = []
    for text in assemble(archive.inputs(), run_info(), Settings(), tables.empty("receipts"))["receipt"]:
        out = io.StringIO()
        Console(file=out, width=200, force_terminal=False).print(render(orjson.loads(text)))
        pages.append(out.getvalue())
    return pages


def test_a_receipt_shows_its_checklist_and_its_four_tables():
    page = next(page for page in shown(storage_archive()) if "Storage" in page)
    assert page.index("Ship gate") < page.index("Citations") < page.index("Quotations")
    assert page.index("Quotations") < page.index("Cited works") < page.index("Independence")
    for words in (
        "failed",
        "supported (auto)",
        "42 GW in 2024",
        "dangling",
        "no-source",
        "wrong-source",
        "not-checked",
    ):
        assert words in page
    assert "7 pairs, 1 auto passed, 3 checked, 2 not checked, 1 dangling" in page


def test_hostile_text_neither_moves_the_cursor_nor_becomes_markup():
    archive = Archive()
    claim = "It \x1b[2J\x9b31m\u202egrew [red]fast[/red] \x07"
    key = archive.document("a\x1b[31m", f"{claim} [1].", title="[bold]T[/bold]\x00")
    archive.graded(archive.pair(key, claim, archive.source(key, "1", "No.")), "unsupported", rationale="\x1b]0;x\x07")
    (page,) = shown(archive)
    assert not any(not sign.isprintable() and sign != "\n" for sign in page)
    assert "[red]fast[/red]" in page
    assert "[bold]T[/bold]" in page


def test_visible_is_one_short_line():
    assert visible("a\n\tb\u2028c") == "a b c"
    assert visible("x" * 500, 10) == "x" * 9 + "…"


def test_a_long_table_shows_what_is_not_fine_and_says_what_it_left_out():
    archive = storage_archive()
    rows = assemble(archive.inputs(), run_info(), Settings(), tables.empty("receipts"))["receipt"]
    receipt = next(one for one in map(orjson.loads, rows) if one["state"] == "failed")
    cite = receipt["cite_check"]
    cite["rows"] = [row for _ in range(100) for row in cite["rows"]]
    out = io.StringIO()
    Console(file=out, width=160).print(render(receipt))
    assert "500 more rows are in the receipt" in out.getvalue()
    assert "supported (auto)" not in out.getvalue()
