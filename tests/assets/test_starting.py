"""What starts a night, tried on real folders: the schedule, the sensors, and runs that are started again."""

from __future__ import annotations

import os
import threading
import time
from datetime import UTC, datetime

import dagster as dg
import pytest
from dagster._core.events import DagsterEventType
from dagster._core.execution.retries import auto_reexecution_should_retry_run
from dagster._core.storage.dagster_run import DagsterRunStatus
from dagster._core.storage.tags import RETRY_STRATEGY_TAG

import assets.reading
from assets import resources
from assets.definitions import build_defs, defs
from assets.freshness import EXPECTED
from assets.jobs import every_night, nightly
from assets.retries import passes
from assets.sensors import batch_finished, corpus_arrived, register_renewed
from tests.support import dyes
from tests.support.corpora import MILL, PIER, SOURCES, harbour, write_folder
from tests.support.nights import verify
from verification_pipeline.errors import StoreBusy, UsageError, WorkerLost
from verification_pipeline.night import Options, open_night
from verification_pipeline.store import Store

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An archive folder with one corpus that the store knows; files are an hour old."""
    for name in ("VERIFICATION_CORPORA", "VERIFICATION_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("VERIFICATION_OUT", str(tmp_path / "out"))
    monkeypatch.setenv("VERIFICATION_ARCHIVES", str(tmp_path / "archives"))
    monkeypatch.setenv("VERIFICATION_WORKERS", "1")
    monkeypatch.setenv("VERIFICATION_WAIT_MINUTES", "0")
    aged(harbour(tmp_path / "archives" / "harbour"))
    return tmp_path


def aged(path, hours=1.0):
    for one in [path, *path.rglob("*")]:
        os.utime(one, (time.time() - hours * 3600,) * 2)
    return path


def looked(sensor, cursor=None):
    """What one look of a sensor gives, and the cursor after it."""
    context = dg.build_sensor_context(cursor=cursor)
    [found] = sensor(context)
    return found, context.cursor


def test_a_night_is_tagged_with_its_day():
    context = dg.build_schedule_context(scheduled_execution_time=datetime(2026, 11, 30, 2, tzinfo=UTC))
    request = every_night(context)
    assert (request.run_key, request.tags["night"]) == ("2026-11-30", "2026-11-30")
    assert request.tags["reason"] == "schedule"


def test_a_corpus_that_arrives_starts_one_night(folder):
    found, _ = looked(corpus_arrived)
    assert found.run_key == "arrived: harbour"
    verify(folder / "out", folder / "archives" / "harbour")
    assert looked(corpus_arrived)[0].skip_message == "no corpus is new"
    new = write_folder(folder / "archives" / "quay", {"pier": PIER, "mill": MILL}, SOURCES)
    (folder / "archives" / "notes").mkdir()
    assert looked(corpus_arrived)[0].skip_message == "1 corpora are still being copied"
    aged(new)
    found, _ = looked(corpus_arrived)
    assert (found.run_key, found.tags["reason"]) == ("arrived: quay", "1 corpora arrived")


def test_the_night_that_a_sensor_starts_verifies_what_lies_there_by_then(folder):
    definitions = build_defs()
    write_folder(folder / "archives" / "quay", {"quay": MILL}, SOURCES[2:])
    result = definitions.resolve_job_def("nightly").execute_in_process(run_config=QUIET)
    assert result.success
    store = Store.open(folder / "out")
    assert store.read_all("documents")["corpus"].unique().sort().to_list() == ["harbour", "quay"]
    assert looked(corpus_arrived)[0].skip_message == "no corpus is new"


def test_an_empty_mount_is_no_archive(folder, monkeypatch):
    monkeypatch.setenv("VERIFICATION_ARCHIVES", str(folder / "nowhere"))
    with pytest.raises(UsageError, match="is it mounted"):
        resources.corpora()
    monkeypatch.setenv("VERIFICATION_CORPORA", "a:b")
    assert [str(path) for path in resources.corpora()] == ["a", "b"]


def test_a_renewed_register_file_starts_a_night(folder, monkeypatch):
    assert looked(register_renewed)[0].skip_message == "no Retraction Watch file is configured"
    path = folder / "rw.csv"
    (folder / "s.toml").write_text(f'[registers]\nretraction_watch = "{path}"\n')
    monkeypatch.setenv("VERIFICATION_CONFIG", str(folder / "s.toml"))
    assert looked(register_renewed)[0].skip_message == f"{path} is missing"
    dyes.retractions(path)
    aged(path)
    found, cursor = looked(register_renewed)
    assert found.skip_message == f"{path} is watched from now on"
    assert looked(register_renewed, cursor)[0].skip_message == f"{path} is as it was"
    dyes.retractions(path, dyes.DYE_RETRACTED)
    found, unchanged = looked(register_renewed, cursor)
    assert (found.skip_message, unchanged) == (f"{path} is still being written", cursor)
    aged(path)
    found, later = looked(register_renewed, cursor)
    assert found.tags["reason"] == "register renewed"
    assert later != cursor


def test_the_register_of_the_last_night_is_watched_too(folder):
    dyes.retractions(folder / "rw.csv")
    aged(folder / "rw.csv")
    registers = {"retraction_watch": str(folder / "rw.csv")}
    verify(folder / "out", folder / "archives" / "harbour", registers=registers)
    assert looked(register_renewed)[0].skip_message == f"{folder / 'rw.csv'} is watched from now on"


def test_batches_are_waited_for(folder):
    assert looked(batch_finished)[0].skip_message == "no model was asked yet"
    (folder / "out" / "llm").mkdir(parents=True)
    assert looked(batch_finished)[0].skip_message == "0 batches running, 0 waiting"


# ---- runs that are started again


def failed_run(folder, monkeypatch, error):
    """A night whose reading fails, and the instance that saw it."""

    def fails(*_):
        raise error

    monkeypatch.setattr(assets.reading, "run_stage", fails)
    instance = dg.DagsterInstance.ephemeral()
    with open_night(Options(folder / "out", (folder / "archives" / "harbour",))) as night:
        job = build_defs(night=night).resolve_job_def("nightly")
        result = job.execute_in_process(run_config=QUIET, instance=instance, raise_on_error=False)
    run = instance.get_run_by_id(result.run_id)
    assert run is not None
    assert run.status == DagsterRunStatus.FAILURE
    return instance, run


@pytest.mark.parametrize(("error", "again"), [(WorkerLost("killed"), True), (UsageError("broken setting"), False)])
def test_only_what_passes_by_itself_is_tried_again(folder, monkeypatch, error, again):
    instance, run = failed_run(folder, monkeypatch, error)
    monkeypatch.setattr(type(instance), "run_retries_enabled", True)
    monkeypatch.setattr(type(instance), "run_retries_max_retries", 2)
    monkeypatch.setattr(type(instance), "run_retries_retry_on_asset_or_op_failure", False)
    reason = reason_of(instance, run)
    assert auto_reexecution_should_retry_run(instance, run, reason) is again
    assert run.tags[RETRY_STRATEGY_TAG] == "ALL_STEPS"


def reason_of(instance, run):
    [event] = instance.get_records_for_run(run.run_id, of_type=DagsterEventType.RUN_FAILURE).records
    return event.event_log_entry.dagster_event.job_failure_data.failure_reason


def test_a_cause_passes_wherever_it_stands():
    outer = RuntimeError("step failed")
    outer.__cause__ = WorkerLost("killed")
    assert passes(outer)
    assert not passes(RuntimeError("step failed"))
    assert not passes(None)


def test_a_store_that_is_held_is_waited_for(folder, monkeypatch):
    monkeypatch.setattr(resources, "_PAUSE_SECONDS", 0.05)
    store = Store.open(folder / "out")
    config = {"out": str(folder / "out"), "corpora": [str(folder / "archives" / "harbour")], "workers": 1}
    with (
        store.locked(),
        pytest.raises(dg.DagsterError) as refused,
        dg.build_resources({"night": resources.night_resource}, resource_config={"night": {"config": config}}),
    ):
        pass
    assert isinstance(refused.value.__cause__, StoreBusy)
    held, release = threading.Event(), threading.Event()

    def hold():
        with store.locked():
            held.set()
            release.wait(0.5)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    config["wait_minutes"] = 1.0
    with dg.build_resources(
        {"night": resources.night_resource}, resource_config={"night": {"config": config}}
    ) as opened:
        assert opened.night.store.root == folder / "out"
    thread.join()


# ---- what is late, and what fell


def test_what_people_look_at_in_the_morning_has_a_freshness_policy():
    specs = {spec.key.to_user_string(): spec for spec in defs.resolve_all_asset_specs()}
    assert {name for name, spec in specs.items() if spec.freshness_policy is not None} == EXPECTED
    for name in EXPECTED:
        assert specs[name].freshness_policy.deadline_cron == "0 8 * * *"
    assert nightly.name == "nightly"


def test_a_document_that_falls_through_the_gate_is_named_by_a_warning(folder):
    corpus = folder / "archives" / "harbour"

    def night():
        with open_night(Options(folder / "out", (corpus,))) as opened:
            result = build_defs(night=opened).resolve_job_def("nightly").execute_in_process(run_config=QUIET)
        name = "no_document_fell_through_the_gate"
        [check] = [one for one in result.get_asset_check_evaluations() if one.check_name == name]
        return check

    assert night().passed
    drifted = [*SOURCES[:2], {**SOURCES[2], "text": "The mill was closed, and no flour was ground in it."}]
    write_folder(corpus, {"pier": PIER, "mill": MILL}, drifted)
    check = night()
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.WARN)
    [words] = check.metadata["documents"].value
    assert words.startswith("harbour/mill is ")
    assert "source" in words
    assert night().passed
