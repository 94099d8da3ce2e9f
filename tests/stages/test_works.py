from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta

import duckdb
import polars as pl
import pytest

from tests.dois import register
from tests.support import dyes
from tests.support.corpora import write_folder
from tests.support.nights import verify
from verification_pipeline.config import Registers, load
from verification_pipeline.errors import UsageError
from verification_pipeline.shards import Scope
from verification_pipeline.stages.works import (
    fill_days,
    last_registers,
    listed_works,
    on_each_day,
    registers_by,
    registers_of,
    remember_registers,
    sweep_days,
)
from verification_pipeline.store import Store

TEXT = "The dye is stable [1].{note}\n\n## Sources\n[1] On dyes. https://doi.org/10.5555/DYE.1\n"
SOURCE = {"id": "1", "document_id": "d", "url": "https://doi.org/10.5555/dye.1", "text": "The dye is stable."}
NIGHT = datetime(2026, 1, 10, 2, tzinfo=UTC)
TONIGHT = (NIGHT.date(), NIGHT.date())


def receipt(tmp_path, note=""):
    corpus = write_folder(tmp_path / "c", {"d": TEXT.format(note=note)}, [SOURCE])
    rows = [{"OriginalPaperDOI": "10.5555/dye.1", "RetractionDOI": "10.5555/notice.1"}]
    path = register.write(tmp_path / "register.csv", rows)
    store = verify(tmp_path / "out", corpus, registers={"retraction_watch": str(path)})
    return json.loads(store.read_all("receipts")["receipt"][0])


def test_a_retracted_citation_fails_the_gate(tmp_path):
    found = receipt(tmp_path)
    row = found["retraction_sweep"]["rows"][0]
    assert (row["doi"], row["status"], row["date"]) == ("10.5555/dye.1", "retracted", "2020-03-01")
    assert row["notice_url"].endswith("10.5555%2Fnotice.1")
    assert {c["name"]: c["outcome"] for c in found["checks"]}["retracted-citations"] == "failed"


def test_one_that_the_document_acknowledges_does_not(tmp_path):
    found = receipt(tmp_path, " That paper was later retracted [1].")
    assert found["retraction_sweep"]["rows"][0]["noted_in_document"]
    assert {c["name"]: c["outcome"] for c in found["checks"]}["retracted-citations"] == "passed"


def test_registers_belong_to_the_archive():
    one = load({"registers": {"retraction_watch": "a.csv"}})
    other = load({"registers": {"retraction_watch": "b.csv"}})
    assert registers_of(Scope({"x": one, "y": load()})) == one.registers
    with pytest.raises(UsageError, match="x and y configure different registers"):
        registers_of(Scope({"x": one, "y": other}))


def test_a_list_of_dois_keeps_what_it_could_not_read():
    works, refused = listed_works(["https://doi.org/10.5555/A", "10.5555/a", "# note", "", "no doi"])
    assert works["work_id"].to_list() == ["doi:10.5555/a"]
    assert refused == ["no doi"]


@pytest.fixture
def swept(tmp_path):
    """A store of two works, swept on 10 January with a clean register and on 15 January with a retraction."""
    store, works = Store.open(tmp_path / "out"), register.works(dyes.DYE, dyes.TIDE)
    settings = Registers(retraction_watch=dyes.retractions(tmp_path / "rw.csv"))
    sweep_days(store, works, settings, TONIGHT, None, NIGHT)
    dyes.retractions(tmp_path / "rw.csv", dyes.DYE_RETRACTED)
    later = NIGHT + timedelta(days=5)
    sweep_days(store, works, settings, (later.date(), later.date()), None, later)
    return store, works, settings, later


def test_a_register_configured_later_makes_past_knowledge_no_less(swept):
    store, works, settings, clock = swept
    both = settings.model_copy(update={"crossref": True, "crossref_url": "http://127.0.0.1:9", "attempts": 1})
    remember_registers(store, both)
    sweep_days(store, works, both, TONIGHT, None, clock + timedelta(days=1))
    later = clock + timedelta(days=2)
    known = {day: registers_by(store, date(2026, 1, day)) for day in (9, 12, 16)}
    assert [(one.retraction_watch is None, one.crossref) for one in known.values()] == [
        (False, True),  # nobody was asked yet: all of them are missing
        (False, False),
        (False, True),
    ]
    told = {
        day: sweep_days(store, works, one, TONIGHT, date(2026, 1, day), later).statuses for day, one in known.items()
    }
    assert {day: found.filter(pl.col("doi") == dyes.TIDE)["status"].item() for day, found in told.items()} == {
        9: "unavailable",
        12: "ok",
        16: "unavailable",
    }


def status(periods: pl.DataFrame) -> list[str]:
    return periods.filter(pl.col("doi") == dyes.DYE)["status"].to_list()


def bytes_of(store: Store) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in (store.root / "tables").rglob("*.parquet")}


def test_what_was_known_on_a_day_is_asked_of_nobody_and_changes_nothing(swept):
    store, works, settings, clock = swept
    before = bytes_of(store)
    settings.retraction_watch.unlink()
    for day, expected in ((9, "unavailable"), (10, "ok"), (14, "ok"), (15, "retracted")):
        known = date(2026, 1, day)
        found = sweep_days(store, works, settings, TONIGHT, known, clock + timedelta(days=1))
        assert (status(found.statuses), found.outages) == ([expected], []), day
    assert bytes_of(store) == before


def test_known_at_ends_with_its_utc_day(tmp_path):
    store, works = Store.open(tmp_path / "out"), register.works(dyes.DYE)
    settings = Registers(retraction_watch=dyes.retractions(tmp_path / "rw.csv", dyes.DYE_RETRACTED))
    late = datetime(2026, 1, 10, 23, 59, 59, tzinfo=UTC)
    sweep_days(store, works, settings, TONIGHT, None, late)
    tomorrow = late + timedelta(hours=1)
    assert status(sweep_days(store, works, settings, TONIGHT, NIGHT.date(), tomorrow).statuses) == ["retracted"]


def test_a_range_says_its_periods_and_a_second_run_writes_nothing(swept):
    store, works, settings, clock = swept
    days = (date(2019, 1, 1), date(2021, 1, 1))
    found = sweep_days(store, works, settings, days, None, clock).statuses.filter(pl.col("doi") == dyes.DYE)
    assert found.select("status", "valid_from", "valid_to").rows() == [
        ("ok", date(2019, 1, 1), date(2020, 3, 1)),
        ("retracted", date(2020, 3, 1), None),
    ]
    before = {path: path.stat().st_mtime_ns for path in (store.root / "tables").rglob("*.parquet")}
    sweep_days(store, works, settings, days, None, clock)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_days_can_be_filled_in_one_by_one_or_all_at_once(swept, tmp_path):
    store, works, settings, clock = swept
    settings.retraction_watch.unlink()  # nobody is asked
    days = [date(2020, 2, 27) + timedelta(days=n) for n in range(6)]
    whole = fill_days(store, works, settings, (days[0], days[-1]), clock)
    once = store.read("doi_statuses")
    for day in days:
        alone = fill_days(store, works, settings, (day, day), clock)
        assert on_each_day(alone, (day, day))[day] == on_each_day(whole, (days[0], days[-1]))[day]
    assert store.read("doi_statuses").equals(once)
    counts = on_each_day(whole, (days[0], days[-1]))
    assert [counts[day] for day in days] == [{"ok": 2}] * 3 + [{"ok": 1, "retracted": 1}] * 3
    with duckdb.connect(str(store.root / "verification.duckdb"), read_only=True) as connection:
        assert connection.sql("SELECT * FROM doi_statuses").pl().height == once.height


@pytest.mark.parametrize(
    ("days", "known", "words"),
    [
        ((date(2026, 1, 11), date(2026, 1, 11)), None, "has not come yet"),
        ((date(2026, 1, 2), date(2026, 1, 1)), None, "run backwards"),
        (TONIGHT, date(2026, 1, 11), "not known yet"),
    ],
)
def test_impossible_days_are_refused(tmp_path, days, known, words):
    with pytest.raises(UsageError, match=words):
        sweep_days(Store.open(tmp_path), register.works(dyes.DYE), Registers(), days, known, NIGHT)


def test_a_night_leaves_its_registers_to_the_sweeps_after_it(tmp_path, monkeypatch):
    assert last_registers(Store.open(tmp_path / "new")) == Registers()
    monkeypatch.chdir(tmp_path)
    dyes.retractions(tmp_path / "rw.csv")
    corpus = dyes.archive(tmp_path / "c", d="2019-05-01")
    store = verify(tmp_path / "out", corpus, registers={"retraction_watch": "rw.csv", "mailto": "a@example.org"})
    kept = last_registers(store)
    assert kept == Registers(retraction_watch=tmp_path / "rw.csv", mailto="a@example.org")
    (store.root / "registers.json").write_text("{")
    with pytest.raises(UsageError, match="damaged"):
        last_registers(store)


def test_every_setting_of_the_registers_is_described():
    assert [name for name, field in Registers.model_fields.items() if not field.description] == []
