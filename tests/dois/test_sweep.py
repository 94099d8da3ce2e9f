"""Sweeps of invented registers, and of the real rows where they are at hand."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from tests.dois import register
from verification_pipeline import tables
from verification_pipeline.config import Registers
from verification_pipeline.dois.normalise import normalise_doi
from verification_pipeline.dois.sweep import Stored, SweepResult, run

NIGHT = datetime(2026, 1, 10, 2, tzinfo=UTC)
PAPER = "10.5555/paper.1"


def kept(result: SweepResult) -> Stored:
    return Stored(result.lookups, result.notices, result.statuses)


def swept(
    works: pl.DataFrame,
    path: Path | None,
    stored: Stored | None = None,
    clock: datetime = NIGHT,
    as_of: date | tuple[date, date] | None = None,
    known_at: datetime | None = None,
) -> SweepResult:
    settings = Registers(retraction_watch=path)
    result = run(works, stored or Stored.nothing(), settings, as_of or clock.date(), known_at or clock, clock)
    for name in ("lookups", "notices", "statuses"):
        tables.check(f"doi_{name}", getattr(result, name), "test")
    return result


def write(folder: Path, *rows: Mapping[str, str]) -> Path:
    return register.write(folder / "rw.csv", rows)


def test_each_work_has_a_status_a_question_and_its_notices(tmp_path: Path) -> None:
    path = write(tmp_path, {})
    result = swept(register.works(PAPER, "10.5555/other", "10.5555/notice.1"), path)
    rows = {row["doi"]: row for row in result.statuses.to_dicts()}
    assert rows[PAPER]["status"] == "retracted"
    assert rows[PAPER]["date"] == date(2020, 3, 1)
    assert rows[PAPER]["notice_url"] == "https://doi.org/10.5555%2Fnotice.1"
    assert rows["10.5555/other"]["status"] == "ok"
    assert rows["10.5555/notice.1"]["flags"] == ["is_notice"]
    assert {row["registers"][0] for row in rows.values()} == {"retraction-watch"}
    assert Counter(result.lookups["outcome"]) == {"found": 2, "clean": 1}
    assert result.notices["work_id"].to_list() == [f"doi:{PAPER}"]


def test_no_register_is_no_answer() -> None:
    result = swept(register.works(PAPER), None)
    assert result.statuses.select("status", "reason").row(0) == ("unavailable", "no register asked")
    assert not result.lookups.height


def test_a_work_without_identifier_is_unavailable_unless_its_title_speaks(tmp_path: Path) -> None:
    path = write(tmp_path, {})
    yearbook = swept(register.works(None, work_id="source:1", title="Harbour yearbook 1961"), path)
    assert yearbook.statuses.select("status", "reason").row(0) == ("unavailable", "no identifier")
    assert not yearbook.lookups.height
    titled = swept(register.works(None, work_id="source:1", title="RETRACTED: Harbour yearbook"), path)
    assert titled.statuses["status"].item() == "retracted"
    assert titled.statuses["flags"].item().to_list() == ["title_only"]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"title": "RETRACTED ARTICLE: On tides"}, ["title_only"]),
        ({"title": "Retracted: On tides"}, ["title_only"]),
        ({"title": "On tides [Retracted]"}, ["title_only"]),
        ({"title": "On tides (Retracted article. See vol. 3)"}, ["title_only"]),
        ({"title": "WITHDRAWN: On tides"}, ["title_only"]),
        ({"comment": "This paper has been withdrawn by the authors due to an error"}, ["title_only", "withdrawn"]),
        ({"title": "On the retracted and the reprinted"}, None),
        ({"title": "Retractable roofs"}, None),
        ({"comment": "12 pages; it was never withdrawn"}, None),
    ],
)
def test_signs_in_title_and_comment(tmp_path: Path, columns: dict[str, str], expected: list[str] | None) -> None:
    result = swept(register.works("10.5555/other", **columns), write(tmp_path, {}))
    assert result.statuses["status"].item() == ("retracted" if expected else "ok")
    assert result.statuses["flags"].item().to_list() == (expected or [])
    assert result.statuses["date"].item() is None


def test_a_notices_title_makes_no_retracted_paper(tmp_path: Path) -> None:
    result = swept(register.works("10.5555/n", title="Retraction—On tides"), write(tmp_path, {}))
    assert result.statuses.select("status", "flags").row(0) == ("ok", ["is_notice"])


def test_identifiers_meet_by_pubmed_id_arxiv_doi_loose_key_and_base_version(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {"OriginalPaperDOI": "Unavailable", "OriginalPaperPubMedID": "123.0"},
        {"OriginalPaperDOI": "10.48550/arXiv.2401.00001"},
        {"OriginalPaperDOI": "10.1002/x(1999)1:115::AID-A13.0.CO;2-1"},
        {"OriginalPaperDOI": "10.1101/2020.01.01.900001"},
    )
    cited = pl.concat(
        [
            register.works(None, work_id="pmid:123", pmid="123"),
            register.works(None, work_id="arxiv:2401.00001"),
            register.works("10.1002/x(1999)1:1<15::aid-a1>3.0.co;2-1", "10.1101/2020.01.01.900001v2"),
        ]
    )
    result = swept(cited, path)
    assert set(result.statuses["status"]) == {"retracted"}
    assert set(result.lookups["outcome"]) == {"found"}


def test_a_pubmed_id_never_overrules_two_different_dois(tmp_path: Path) -> None:
    path = write(tmp_path, {"OriginalPaperPubMedID": "123"})
    result = swept(register.works("10.5555/another", pmid="123"), path)
    assert result.statuses["status"].item() == "ok"


def test_an_outage_is_named_and_never_ok(tmp_path: Path) -> None:
    result = swept(register.works(PAPER), tmp_path / "missing.csv")
    assert [outage.register for outage in result.outages] == ["retraction-watch"]
    assert result.statuses["status"].item() == "unavailable"
    assert "failed" in result.statuses["reason"].item()
    assert result.lookups["outcome"].item().startswith("failed:")


def test_row_19_after_an_outage_the_last_answer_stands_and_is_stale(tmp_path: Path) -> None:
    works = register.works(PAPER, "10.5555/other", "10.5555/new")
    first = swept(works.head(2), write(tmp_path, {}))
    broken = tmp_path / "broken.csv"
    broken.write_bytes(b"<html>503</html>")
    later = swept(works, broken, kept(first), NIGHT + timedelta(days=1))
    now = {row["doi"]: row for row in later.statuses.filter(pl.col("valid_to").is_null()).to_dicts()}
    assert (now[PAPER]["status"], now[PAPER]["stale"]) == ("retracted", True)
    assert (now["10.5555/other"]["status"], now["10.5555/other"]["stale"]) == ("ok", True)
    assert now["10.5555/new"]["status"] == "unavailable"
    assert later.notices.equals(first.notices)


def test_a_file_that_lost_half_its_notices_is_an_outage(tmp_path: Path) -> None:
    rows = [{"OriginalPaperDOI": f"10.5555/p.{n}", "RetractionDOI": f"10.5555/n.{n}"} for n in range(40)]
    works = register.works(*(row["OriginalPaperDOI"] for row in rows))
    first = swept(works, write(tmp_path, *rows))
    half = swept(works, write(tmp_path, *rows[:20]), kept(first), NIGHT + timedelta(days=1))
    assert "half a file" in half.outages[0].reason
    assert set(half.statuses.filter(pl.col("valid_to").is_null())["status"]) == {"retracted"}


def test_an_unchanged_file_changes_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, {})
    works = register.works(PAPER, "10.5555/other")
    first = swept(works, path)
    second = swept(works, path, kept(first), NIGHT + timedelta(days=1))
    for name in ("lookups", "notices", "statuses"):
        assert getattr(second, name).equals(getattr(first, name)), name


def test_questions_grow_with_what_changes_and_not_with_the_nights(tmp_path: Path) -> None:
    works, stored = register.works(PAPER, "10.5555/other"), Stored.nothing()
    for night in range(12):
        rows = [{"OriginalPaperDOI": "10.5555/else", "Title": f"On tides {night}"}, *([{}] if night >= 6 else [])]
        stored = kept(swept(works, write(tmp_path, *rows), stored, NIGHT + timedelta(days=night)))
    asked = stored.lookups.with_columns(night=(pl.col("asked_at") - NIGHT).dt.total_days())
    paper = asked.filter(pl.col("work_id") == f"doi:{PAPER}").sort("night")
    assert paper.select("outcome", "night").rows() == [("clean", 0), ("clean", 5), ("found", 6), ("found", 11)]
    assert asked.filter(pl.col("work_id") != f"doi:{PAPER}")["night"].sort().to_list() == [0, 11]


def test_a_new_notice_ends_one_period_and_begins_another(tmp_path: Path) -> None:
    works = register.works(PAPER)
    first = swept(works, write(tmp_path, {"OriginalPaperDOI": "10.5555/else"}))
    day = {"RetractionDate": "1/11/2026 0:00"}
    second = swept(
        works, write(tmp_path, {"OriginalPaperDOI": "10.5555/else"}, day), kept(first), NIGHT + timedelta(days=1)
    )
    periods = second.statuses.select("status", "valid_from", "valid_to").rows()
    assert periods == [
        ("ok", date(2026, 1, 10), date(2026, 1, 11)),
        ("retracted", date(2026, 1, 11), None),
    ]


def test_a_range_of_days_fills_in_one_run(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {"RetractionNature": "Correction", "RetractionDate": "3/1/2019 0:00", "RetractionDOI": "10.5555/n.1"},
        {
            "RetractionNature": "Expression of concern",
            "RetractionDate": "3/1/2020 0:00",
            "RetractionDOI": "10.5555/n.2",
        },
        {"RetractionDate": "3/1/2021 0:00", "RetractionDOI": "10.5555/n.3"},
        {"RetractionNature": "Reinstatement", "RetractionDate": "3/1/2022 0:00", "RetractionDOI": "10.5555/n.4"},
    )
    result = swept(register.works(PAPER), path, as_of=(date(2018, 1, 1), date(2026, 1, 10)))
    periods = result.statuses.select("status", "valid_from", "valid_to").rows()
    assert periods == [
        ("ok", date(2018, 1, 1), date(2019, 3, 1)),
        ("corrected", date(2019, 3, 1), date(2020, 3, 1)),
        ("expression-of-concern", date(2020, 3, 1), date(2021, 3, 1)),
        ("retracted", date(2021, 3, 1), date(2022, 3, 1)),
        ("ok", date(2022, 3, 1), None),
    ]


def test_every_day_of_a_range_says_what_a_sweep_of_that_day_says(tmp_path: Path) -> None:
    rows = [
        {"OriginalPaperDOI": f"10.5555/p.{n % 5}", "RetractionDOI": f"10.5555/n.{n}", "RetractionNature": nature}
        | {"RetractionDate": f"{1 + n % 3}/{1 + n}/2020 0:00"}
        for n, nature in enumerate(
            ["Retraction", "Correction", "Expression of concern", "Reinstatement", "Retraction"] * 4
        )
    ]
    path, works = write(tmp_path, *rows), register.works(*(f"10.5555/p.{n}" for n in range(6)))
    whole = swept(works, path, as_of=(date(2019, 12, 25), date(2020, 4, 5))).statuses
    for offset in range(0, 100, 7):
        day = date(2019, 12, 25) + timedelta(days=offset)
        alone = swept(works, path, as_of=day).statuses
        then = whole.filter((pl.col("valid_from") <= day) & (pl.col("valid_to").is_null() | (pl.col("valid_to") > day)))
        said = pl.exclude("valid_from", "valid_to")
        assert then.select(said).equals(alone.select(said)), day


def test_a_backfill_leaves_later_days_and_other_works_as_they_were(tmp_path: Path) -> None:
    path = write(tmp_path, {})
    first = swept(register.works(PAPER, "10.5555/other"), path)
    filled = swept(register.works(PAPER), path, kept(first), NIGHT, as_of=(date(2020, 2, 1), date(2020, 4, 1)))
    mine = filled.statuses.filter(pl.col("doi") == PAPER).select("status", "valid_from", "valid_to").rows()
    assert mine == [
        ("ok", date(2020, 2, 1), date(2020, 3, 1)),
        ("retracted", date(2020, 3, 1), date(2020, 4, 2)),
        ("retracted", date(2026, 1, 10), None),
    ]
    assert filled.statuses.filter(pl.col("doi") != PAPER).equals(first.statuses.filter(pl.col("doi") != PAPER))


def test_a_backfill_with_past_knowledge_never_disturbs_tonight(tmp_path: Path) -> None:
    path, works = write(tmp_path, {}), register.works(PAPER)
    first = swept(works, path)
    settings, clock = Registers(retraction_watch=path), NIGHT + timedelta(days=9)
    day, before_we_knew = date(2026, 1, 15), NIGHT - timedelta(days=1)
    filled = run(works, kept(first), settings, day, before_we_knew, clock).statuses
    assert filled.select("status", "valid_from", "valid_to").rows() == [
        ("retracted", date(2026, 1, 10), day),
        ("unavailable", day, date(2026, 1, 16)),
        ("retracted", date(2026, 1, 16), None),
    ]
    same = run(works, kept(first), settings, day, clock, clock).statuses
    assert same.equals(first.statuses)


def test_what_we_knew_is_not_what_was_true(tmp_path: Path) -> None:
    works = register.works(PAPER)
    first = swept(works, write(tmp_path, {"OriginalPaperDOI": "10.5555/else"}))
    second = swept(works, write(tmp_path, {}), kept(first), NIGHT + timedelta(days=5))
    stored, day = kept(second), date(2026, 1, 12)
    settings = Registers(retraction_watch=tmp_path / "rw.csv")
    clock = NIGHT + timedelta(days=6)
    known_then = run(works, stored, settings, day, NIGHT + timedelta(days=2), clock).statuses
    known_now = run(works, stored, settings, day, clock, clock).statuses

    def on(statuses: pl.DataFrame) -> str:
        inside = (pl.col("valid_from") <= day) & (pl.col("valid_to").is_null() | (pl.col("valid_to") > day))
        return str(statuses.filter(inside)["status"].item())

    assert (on(known_then), on(known_now)) == ("ok", "retracted")
    before_any = run(works, stored, settings, day, NIGHT - timedelta(days=1), clock).statuses
    assert on(before_any) == "unavailable"


def test_a_notice_dated_in_the_future_is_in_force_since_it_was_seen(tmp_path: Path) -> None:
    result = swept(register.works(PAPER), write(tmp_path, {"RetractionDate": "12/1/2026 0:00"}))
    assert result.statuses["status"].item() == "retracted"
    assert "suspect" in result.statuses["flags"].item()


def test_an_impossible_date_clears_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, {"RetractionDate": "6/24/1756 12:00:00 AM"}, {"RetractionNature": "Reinstatement"})
    result = swept(register.works(PAPER), path)
    assert result.statuses["status"].item() == "retracted"
    assert "review" in result.statuses["flags"].item()


def test_a_sweep_is_a_function_of_its_input(tmp_path: Path) -> None:
    rows = [{"OriginalPaperDOI": f"10.5555/p.{n}", "RetractionDOI": f"10.5555/n.{n}"} for n in range(30)]
    path, works = write(tmp_path, *rows), register.works(*(row["OriginalPaperDOI"] for row in rows))
    one, other = swept(works, path), swept(works.sample(fraction=1, shuffle=True, seed=3), path)
    for name in ("lookups", "notices", "statuses"):
        assert getattr(one, name).equals(getattr(other, name)), name


GOLDEN_OF_ROWS = {
    "10.1016/s0140-6736(97)11096-0": ("retracted", date(2010, 2, 6), "10.1016%2Fs0140-6736%2810%2960175-4"),
    "10.1016/s0140-6736(20)31180-6": ("retracted", date(2020, 6, 5), "10.1016%2Fs0140-6736%2820%2931324-6"),
    "10.1371/journal.pone.0064723": ("expression-of-concern", date(2021, 10, 28), "10.1371%2Fjournal.pone.0256488"),
    "10.1371/journal.pone.0058088": ("corrected", date(2024, 10, 1), "10.1371%2Fjournal.pone.0311640"),
    "10.1002/ana.24658": ("retracted", date(2016, 5, 25), "10.1002%2Fana.24676"),
    "10.1016/j.heliyon.2023.e18637": ("ok", date(2025, 3, 12), "10.1016%2Fj.heliyon.2025.e43147"),
    "10.1308/rcsann.2020.0038": ("expression-of-concern", date(2022, 3, 23), "10.1308%2Frcsann.2020.0038"),
    "10.2807/1560-7917.es.2020.25.3.2000045": (
        "expression-of-concern", date(2020, 12, 3), "10.2807%2F1560-7917.es.2020.25.48.2012031",
    ),
}  # fmt: skip


def test_the_real_rows_read_as_they_should(shared: Path) -> None:
    path = shared / "retractions" / "retraction_watch_rows.csv"
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    dois = list(dict.fromkeys(doi for row in rows if (doi := normalise_doi(row["OriginalPaperDOI"]))))
    notices = ["10.1016/s0140-6736(10)60175-4", "10.1016/s0140-6736(20)31324-6"]
    result = swept(register.works(*dois, *notices), path, clock=datetime(2026, 11, 1, tzinfo=UTC))
    found = {row["doi"]: row for row in result.statuses.to_dicts()}
    for doi, (status, day, notice) in GOLDEN_OF_ROWS.items():
        assert (found[doi]["status"], found[doi]["date"]) == (status, day), doi
        assert found[doi]["notice_url"] == f"https://doi.org/{notice}"
    for doi in notices:
        assert (found[doi]["status"], found[doi]["flags"]) == ("ok", ["is_notice"])
    natures: dict[str, set[str]] = {}
    for row in rows:
        natures.setdefault(str(normalise_doi(row["OriginalPaperDOI"])), set()).add(row["RetractionNature"])
    for doi, said in natures.items():
        if "Retraction" in said and "Reinstatement" not in said:
            assert found[doi]["status"] == "retracted", doi
        if len(said) == 1:
            [only] = said
            expected = {"Retraction": "retracted", "Correction": "corrected", "Reinstatement": "ok"}
            assert found[doi]["status"] == expected.get(only, "expression-of-concern"), doi


def test_57_553_real_natures_swept_whole(shared: Path, tmp_path: Path) -> None:
    """Each list of natures, dated a year apart in its order, gives the status that the table says."""
    with (shared / "retractions" / "doi_natures.csv").open(encoding="utf-8", newline="") as lines:
        real = {
            doi: row["retractionwatch"].split(";")
            for row in csv.DictReader(lines)
            if (doi := normalise_doi(row["doi"]))
        }
    rows = [
        {"OriginalPaperDOI": doi, "RetractionDOI": "Unavailable", "RetractionNature": nature}
        | {"RetractionDate": f"1/1/{2000 + place} 0:00", "OriginalPaperDate": "1/1/1990 0:00"}
        for doi, said in real.items()
        for place, nature in enumerate(said)
    ]
    result = swept(register.works(*real), write(tmp_path, *rows))
    found = dict(result.statuses.select("doi", "status").iter_rows())
    wrong = {doi: (said, found[doi]) for doi, said in real.items() if found[doi] != _by_hand(said)}
    assert not wrong, list(wrong.items())[:5]
    assert Counter(found.values())["retracted"] > 55_000


def _by_hand(natures: list[str]) -> str:
    last = {nature: place for place, nature in enumerate(natures)}
    cleared = last.get("Reinstatement", -1)
    if last.get("Retraction", -1) > cleared:
        return "retracted"
    if last.get("Expression of concern", -1) > cleared:
        return "expression-of-concern"
    return "corrected" if last.get("Correction", -1) > cleared else "ok"


def test_the_header_of_a_written_file_is_the_registers() -> None:
    header = next(csv.reader(io.StringIO(register.content([]).decode())))
    assert header[0] == "Record ID"
    assert header[-1] == ""
    assert len(header) == 21


def test_nothing_to_sweep_is_no_fault(tmp_path: Path) -> None:
    settings = Registers(
        retraction_watch=write(tmp_path, {}), crossref=True, pubmed=True, crossref_url="http://127.0.0.1:9"
    )
    for works in (register.works(), register.works(None, work_id="source:1")):
        result = run(works, Stored.nothing(), settings, NIGHT.date(), NIGHT, NIGHT)
        assert not result.outages
        assert not result.lookups.height
        assert result.statuses.height == works.height
