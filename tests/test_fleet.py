from __future__ import annotations

import datetime as dt
import re

import polars as pl
import pytest

from tests.receipts.test_page import Page
from tests.support.corpora import MILL, harbour
from tests.support.nights import verify
from verification_pipeline import fleet
from verification_pipeline.fleet.charts import Line, Point, trend

DAY = dt.datetime(2026, 3, 1, 2, 0, tzinfo=dt.UTC)


def nights(count: int, **interval: float) -> list[Point]:
    return [Point(DAY + dt.timedelta(days=n), 0.5 + n / 100, **interval) for n in range(count)]


def test_a_chart_is_the_same_bytes_again_and_uses_the_colours_of_the_page():
    lines = [Line("supported", nights(5, low=0.4, high=0.7)), Line("passed", nights(5))]
    svg = trend(lines, "a")
    assert svg == trend(lines, "a")
    assert svg.startswith("<svg")
    assert {"var(--ink)", "var(--line-1)", "var(--line-2)"} <= set(re.findall(r"var\(--[a-z0-9-]+\)", svg))
    assert "supported" in svg
    assert "<script" not in svg
    assert svg.count("FillBetween") == 1
    used = [set(re.findall(r'(?:url\(#|href="#)([^")]+)', one)) for one in (svg, trend(lines, "b"))]
    assert used[0]
    assert used[0].isdisjoint(used[1])


@pytest.mark.parametrize(
    "points", [[], nights(1), nights(1, low=0.2, high=0.9), [Point(DAY, None)], nights(120, low=0.0, high=1.0)]
)
def test_a_chart_of_any_number_of_nights(points):
    assert trend([Line("one </text><script> $x$ name", points)], "n").count("<svg") == 1


def test_a_chart_of_nothing_tells_no_days():
    svg = trend([Line("one", [Point(DAY, None)])], "n")
    assert "nothing was counted yet" in svg
    assert "1970" not in svg
    assert "nothing was counted" not in trend([Line("one", nights(1))], "n")


def test_an_archive_without_documents_has_a_page(tmp_path):
    (tmp_path / "bare" / "documents").mkdir(parents=True)
    store = verify(tmp_path / "out", tmp_path / "bare")
    html = (store.root / "fleet.html").read_text("utf-8")
    assert "of 0" in html
    assert "No graded citation failed." in html


@pytest.fixture(scope="module")
def two_nights(tmp_path_factory):
    """The page after two nights; between them a document was edited."""
    root = tmp_path_factory.mktemp("fleet")
    corpus = harbour(root / "harbour <b>'s")
    verify(root / "out", corpus)
    (corpus / "documents" / "mill.md").write_text(MILL.replace("three", "five"), "utf-8")
    store = verify(root / "out", corpus)
    return store, (store.root / "fleet.html").read_text("utf-8")


def test_the_page_stands_alone_and_runs_nothing(two_nights):
    _, html = two_nights
    tags = set(re.findall(r"<([a-z]+)", html))
    assert tags.isdisjoint({"script", "img", "link", "iframe", "object", "embed", "base", "form", "b"})
    assert "default-src 'none'" in html
    assert not re.search(r'(?:src|href)="(?!#|receipts/)', re.sub(r'xlink:href="#[^"]*"', "", html))
    assert "url(http" not in html


def test_the_page_says_what_changed_and_links_to_each_receipt(two_nights):
    store, html = two_nights
    assert "document edited" in html
    links = re.findall(r'href="(receipts/[^"]+)"', html)
    assert len(set(links)) == 2
    assert all((store.root / link).is_file() for link in links)
    text = Page(re.sub(r"<svg.*?</svg>", "", html, flags=re.DOTALL)).text
    assert "harbour <b>'s/pier" in text
    assert "Documents passed" in text


def test_an_unchanged_night_rewrites_only_the_page_and_what_a_run_adds(two_nights):
    store, _ = two_nights

    def stamps():
        return {path: path.stat().st_mtime_ns for path in store.root.rglob("*") if path.is_file()}

    before = stamps()
    verify(store.root, store.root.parent / "harbour <b>'s")
    written = {path.name for path, stamp in stamps().items() if before.get(path) != stamp}
    assert written <= {
        *("fleet.html", "runs.parquet", "metrics.parquet", "verification.duckdb"),
        *(".holder", ".lock", "retractions.csv", "registers.json"),
    }
    last = store.read("runs").sort("started_at")["run_id"][-1]
    assert store.read("changes").filter(pl.col("run_id") == last).is_empty()
    assert "Nothing." in (store.root / "fleet.html").read_text("utf-8")


def test_the_same_store_gives_the_same_page(two_nights):
    store, _ = two_nights
    assert fleet.write(store).read_bytes() == fleet.write(store).read_bytes()
