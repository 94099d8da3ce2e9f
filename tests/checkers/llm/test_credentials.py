"""The key is where it has to be and nowhere else."""

from __future__ import annotations

import logging
import traceback

import pytest

from tests.builders import evidence, item
from tests.servers.scripted import KEY, Script
from verification_pipeline.checkers.llm.credentials import Secret, key_of
from verification_pipeline.checkers.retrieval import WordRetriever
from verification_pipeline.config import OpenAI, Settings
from verification_pipeline.errors import CheckerError

CASES = [item("The mast is 9 m high.", evidence("1", "The mast is 9 m high."))]


def test_the_environment_comes_before_the_file(tmp_path, monkeypatch):
    file = tmp_path / "key"
    file.write_text("from the file\n")
    monkeypatch.setenv("OPENAI_API_KEY", "from the environment")
    rules = OpenAI(api_key_file=file)
    assert key_of(rules).reveal() == "from the environment"
    monkeypatch.delenv("OPENAI_API_KEY")
    assert key_of(rules).reveal() == "from the file"


def test_without_a_key_one_line_says_what_to_set(monkeypatch, tmp_path):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(CheckerError, match="OPENAI_API_KEY"):
        key_of(OpenAI())
    with pytest.raises(CheckerError, match="cannot be read"):
        key_of(OpenAI(api_key_file=tmp_path / "absent"))


def test_a_secret_shows_itself_nowhere():
    secret = Secret(KEY)
    assert KEY not in f"{secret!r} {secret} {[secret]}"
    assert KEY not in secret.out_of(f"Incorrect API key provided: {KEY}.")
    assert "0123456789" not in secret.out_of("Bearer sk-test-0123456789abcdef and sk-proj-0123456789*****wxyz")
    assert KEY.encode() not in secret.out_of_bytes(b"x" + KEY.encode())


@pytest.mark.parametrize("mode", ["online", "batch"])
@pytest.mark.parametrize("fault", [None, "500", "400", "cut", "not-json"])
def test_no_file_log_exception_or_outcome_holds_the_key(serve, checker_for, tmp_path, caplog, mode, fault):
    caplog.set_level(logging.DEBUG)

    def judge(prompt):  # a server that echoes what it should not
        return [
            {"pair": one.label, "evidence": KEY, "rationale": KEY, "verdict": "unsupported", "correct_source": None}
            for one in prompt.pairs
        ]

    checker = checker_for(serve(Script(fault=lambda *_: fault, judge=judge)), mode=mode, retries=0)
    outcomes = checker.check(CASES, WordRetriever()) + checker.check(CASES, WordRetriever())
    assert KEY not in repr(outcomes)
    assert KEY not in caplog.text
    assert KEY not in repr(checker) + Settings().model_dump_json()
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path.name


def test_a_refused_key_is_not_in_the_exception(serve, checker_for, monkeypatch, tmp_path):
    checker = checker_for(serve())
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-fedcba9876543210")
    with pytest.raises(CheckerError) as caught:
        checker.check(CASES, WordRetriever())
    assert "fedcba98" not in "".join(traceback.format_exception(caught.value))
