from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from assets.definitions import build_defs, defs
from tests.support import dyes
from verification_pipeline.night import Options, open_night
from verification_pipeline.store import Store

ROOT = Path(__file__).resolve().parents[2]
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
START, END = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"


def execute(folder: Path, job: str, **tags: str) -> tuple[dg.ExecuteInProcessResult, Store]:
    overrides = {"registers": {"retraction_watch": str(folder / "rw.csv")}}
    with open_night(Options(folder / "out", (folder / "c",), overrides=overrides)) as night:
        definitions = build_defs(night=night)
        result = definitions.resolve_job_def(job).execute_in_process(run_config=QUIET, tags=tags)
        return result, night.store


@pytest.fixture
def folder(tmp_path):
    dyes.archive(tmp_path / "c", early="2019-05-01", late="2021-05-01")
    dyes.retractions(tmp_path / "rw.csv", dyes.DYE_RETRACTED)
    return tmp_path


def checks(result: dg.ExecuteInProcessResult, name: str) -> dg.AssetCheckEvaluation:
    [found] = [event for event in result.get_asset_check_evaluations() if event.check_name == name]
    return found


def test_a_range_of_days_is_one_run_that_asks_nobody(folder):
    execute(folder, "nightly")
    (folder / "rw.csv").unlink()
    result, store = execute(folder, "sweep_by_day", **{START: "2020-02-28", END: "2020-03-02"})
    assert result.success
    events = result.asset_materializations_for_node("doi_statuses_by_day")
    told = {event.partition: {name: value.value for name, value in event.metadata.items()} for event in events}
    assert {day: (one.get("ok"), one.get("retracted")) for day, one in told.items()} == {
        "2020-02-28": (2, None),
        "2020-02-29": (2, None),
        "2020-03-01": (1, 1),
        "2020-03-02": (1, 1),
    }
    dye = store.read("doi_statuses").filter((pl.col("doi") == dyes.DYE) & (pl.col("valid_from") < date(2021, 1, 1)))
    assert dye.select("status", "valid_from", "valid_to").rows() == [
        ("ok", date(2020, 2, 28), date(2020, 3, 1)),
        ("retracted", date(2020, 3, 1), date(2020, 3, 3)),
    ]
    assert store.read("doi_lookups")["outcome"].str.starts_with("failed").sum() == 0


def test_nights_and_sweeps_have_no_partition():
    for job in ("nightly", "sweep"):
        assert defs.resolve_job_def(job).partitions_def is None
    by_day = defs.resolve_job_def("sweep_by_day")
    assert by_day.partitions_def is not None
    assert by_day.partitions_def.get_last_partition_key() == datetime.now(UTC).date().isoformat()


def test_documents_newly_affected_are_named_once_and_by_a_warning(folder):
    dyes.retractions(folder / "rw.csv")
    assert checks(execute(folder, "nightly")[0], "no_document_newly_affected").passed
    dyes.retractions(folder / "rw.csv", dyes.DYE_RETRACTED)
    result, _ = execute(folder, "nightly")
    assert result.success
    found = checks(result, "no_document_newly_affected")
    assert (found.passed, found.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert found.metadata["documents"].value == [
        "c/early cites doi:10.5555/dye.1, retracted 2020-03-01 (cited: before)",
        "c/late cites doi:10.5555/dye.1, retracted 2020-03-01 (cited: after)",
    ]
    dyes.archive(folder / "c", early="2019-05-01", late="2021-05-01", third="2022-01-01")
    found = checks(execute(folder, "nightly")[0], "no_document_newly_affected")
    assert found.metadata["count"].value == 1
    assert found.metadata["documents"].value[0].startswith("c/third cites")
    assert checks(execute(folder, "nightly")[0], "no_document_newly_affected").passed


def test_an_outage_warns_and_the_night_goes_on(folder):
    execute(folder, "nightly")
    (folder / "rw.csv").write_bytes(b"<html>503</html>")
    result, store = execute(folder, "nightly")
    assert result.success
    assert "wrong header" in checks(result, "registers_answered").metadata["outages"].value[0]
    assert set(store.read("doi_statuses").filter(pl.col("valid_to").is_null())["stale"]) == {True}
    assert checks(result, "no_document_newly_affected").passed


def test_days_are_filled_in_as_an_operator_would(folder):
    execute(folder, "nightly")
    (folder / "s.toml").write_text(f'[registers]\nretraction_watch = "{folder / "rw.csv"}"\n')
    command = [
        sys.executable, "-m", "dagster", "asset", "materialize", "-m", "assets.definitions",
        "--select", "doi_statuses_by_day", "--partition-range", "2020-02-28...2020-03-02",
    ]  # fmt: skip
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={
            "DAGSTER_HOME": str(folder),
            "DAGSTER_DISABLE_TELEMETRY": "yes",
            "PATH": "/usr/bin:/bin",
            "VERIFICATION_OUT": str(folder / "out"),
            "VERIFICATION_CORPORA": str(folder / "c"),
            "VERIFICATION_CONFIG": str(folder / "s.toml"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    statuses = Store.open(folder / "out").read("doi_statuses").filter(pl.col("doi") == dyes.DYE)
    assert statuses.filter(pl.col("valid_from") == date(2020, 3, 1))["status"].to_list() == ["retracted"]
