from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import yaml
from dagster._core.instance.config import dagster_instance_config

import assets.verdicts
from assets.definitions import build_defs, defs
from assets.registry import SCHEMA_CHECK, inspect
from tests.support.corpora import harbour
from verification_pipeline.night import Options, open_night
from verification_pipeline.tables import TABLES

ROOT = Path(__file__).resolve().parents[2]
INSIDE = {"fingerprints", "baselines"}
"""Tables that are the pipeline's own memory, not assets."""

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def keys():
    return {key.to_user_string(): spec for key, spec in ((s.key, s) for s in defs.resolve_all_asset_specs())}


def test_every_table_is_an_asset_with_its_columns():
    found = keys()
    assert set(TABLES) - INSIDE <= set(found)
    for name in set(TABLES) - INSIDE:
        columns = found[name].metadata["dagster/column_schema"].columns
        assert [column.name for column in columns] == [column.name for column in TABLES[name].columns]
        assert all(column.description for column in columns)


def test_every_asset_is_described_grouped_and_of_a_kind():
    for name, spec in keys().items():
        assert spec.group_name != "default", name
        assert spec.description, name
        assert spec.kinds, name


def test_every_table_has_its_blocking_schema_check():
    checks = {
        key.asset_key.to_user_string()
        for key in defs.resolve_asset_graph().asset_check_keys
        if key.name == SCHEMA_CHECK
    }
    assert set(TABLES) - INSIDE <= checks


def test_nights_are_scheduled_and_jobs_are_there():
    repository = defs.get_repository_def()
    assert {job.name for job in repository.get_all_jobs()} >= {"nightly", "sweep"}
    assert [schedule.cron_schedule for schedule in repository.schedule_defs] == ["0 2 * * *"]
    assert {sensor.name for sensor in repository.sensor_defs} == {
        "batch_finished",
        "corpus_arrived",
        "register_renewed",
    }


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store verified through the nightly job."""
    root = tmp_path_factory.mktemp("night")
    options = Options(root / "out", (harbour(root / "harbour"),))
    with open_night(options) as night:
        result = build_defs(night=night).resolve_job_def("nightly").execute_in_process(run_config=QUIET)
    return result, night.store


def test_a_night_reports_rows_and_figures(store):
    result, _ = store
    assert result.success
    pairs = result.asset_materializations_for_node("reading")
    metadata = {event.asset_key.to_user_string(): event.metadata for event in pairs}
    assert metadata["pairs"]["dagster/row_count"].value == 5
    assert metadata["pairs"]["recomputed"].value == 2


def test_a_table_damaged_on_disk_is_named(store):
    _, finished = store
    path = next(path for path in finished.files("problems"))
    sound = path.read_bytes()
    pl.DataFrame({"x": [1]}).write_parquet(path)
    try:
        rows, faults = inspect(finished, "problems")
        assert (rows, len(faults)) == (1, 1)
        assert "problems.parquet" in faults[0]
    finally:
        path.write_bytes(sound)


def test_a_broken_sum_fails_the_night_and_skips_receipts(tmp_path, monkeypatch):
    monkeypatch.setattr(assets.verdicts, "broken_sums", lambda _: ["shard 0: 1 × pair without a marker"])
    with open_night(Options(tmp_path / "out", (harbour(tmp_path / "harbour"),))) as night:
        job = build_defs(night=night).resolve_job_def("nightly")
        result = job.execute_in_process(run_config=QUIET, raise_on_error=False)
        assert not result.success
        assert not night.store.files("receipts")
    failed = [event for event in result.get_asset_check_evaluations() if not event.passed]
    assert [(event.check_name, event.metadata["broken"].value) for event in failed] == [
        ("sums_hold", ["shard 0: 1 × pair without a marker"])
    ]


def test_the_code_location_loads_as_an_operator_would_load_it(tmp_path):
    command = [sys.executable, "-m", "dagster", "definitions", "validate", "-w", str(ROOT / "workspace.yaml")]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={"DAGSTER_HOME": str(tmp_path), "DAGSTER_DISABLE_TELEMETRY": "yes", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("file", ["dagster.yaml", "dagster-postgres.yaml"])
def test_the_shipped_instance_configurations_are_valid_and_send_nothing(tmp_path, file):
    for name in ("DAGSTER_PG_HOST", "DAGSTER_PG_USERNAME", "DAGSTER_PG_PASSWORD", "DAGSTER_PG_DB"):
        assert name in (ROOT / "dagster-postgres.yaml").read_text()
    body = yaml.safe_load((ROOT / file).read_text())
    assert body["telemetry"] == {"enabled": False}
    assert body["run_retries"]["retry_on_asset_or_op_failure"] is False
    (tmp_path / "dagster.yaml").write_text((ROOT / file).read_text())
    found, _ = dagster_instance_config(str(tmp_path))
    assert set(body) <= set(found)
