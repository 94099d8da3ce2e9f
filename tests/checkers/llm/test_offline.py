"""Asking by files: what `vllm run-batch` reads and writes."""

from __future__ import annotations

from collections import Counter

import orjson
import pytest

from tests.builders import evidence, item
from tests.servers.reader import completion, prompt_of, rows_of
from verification_pipeline.checkers.llm.checker import LLMChecker
from verification_pipeline.checkers.protocol import Judgement
from verification_pipeline.checkers.retrieval import WordRetriever
from verification_pipeline.config import OpenAI

CASES = [item(f"Mill {n} ground {n} tonnes.", evidence(str(n), f"Mill {n} ground {n} tonnes.")) for n in range(5)]


@pytest.fixture
def checker(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return LLMChecker(OpenAI(mode="offline-file", model="local"), "5a" * 32, tmp_path / "llm")


def found(checker, cases=CASES):
    outcomes = checker.check(cases, WordRetriever())
    return Counter(one.verdict if isinstance(one, Judgement) else one.reason for one in outcomes)


def run_batch(folder, keep=lambda _: True, name="answers.jsonl"):
    """What vLLM's batch runner does with the request files."""
    lines = []
    for path in sorted((folder / "requests").glob("offline-*.jsonl")):
        for number, text in enumerate(path.read_bytes().splitlines()):
            asked = orjson.loads(text)
            if keep(number):
                body = completion(
                    orjson.dumps({"rows": rows_of(prompt_of(asked["body"]))}).decode(), body=asked["body"]
                )
                response = {"status_code": 200, "request_id": "vllm-1", "body": body}
                lines.append({"id": "vllm-1", "custom_id": asked["custom_id"], "response": response, "error": None})
    (folder / "answers" / name).write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in reversed(lines)))


def test_questions_go_out_as_a_file_and_answers_come_in_as_one(checker, tmp_path):
    assert found(checker) == {"pending": 5}
    assert found(checker) == {"pending": 5}
    assert len(list((tmp_path / "llm" / "requests").glob("*.jsonl"))) == 1, "what is out is not written again"
    run_batch(tmp_path / "llm")
    assert found(checker) == {"supported": 5}


def test_a_file_of_answers_may_grow(checker, tmp_path):
    found(checker)
    run_batch(tmp_path / "llm", keep=lambda n: n < 2)
    assert found(checker) == {"supported": 2, "pending": 3}
    run_batch(tmp_path / "llm")
    assert found(checker) == {"supported": 5}


def test_who_removes_the_file_takes_the_questions_back(checker, tmp_path):
    found(checker)
    (path,) = (tmp_path / "llm" / "requests").glob("*.jsonl")
    path.unlink()
    assert found(checker) == {"pending": 5}
    assert len(list((tmp_path / "llm" / "requests").glob("*.jsonl"))) == 1


def test_a_damaged_file_of_answers_is_believed_for_nothing(checker, tmp_path):
    found(checker)
    (tmp_path / "llm" / "answers" / "broken.jsonl").write_bytes(b'{"custom_id": 3}\n\xff\xfe\n{"custom_id"\n[]\nnull\n')
    assert found(checker) == {"pending": 5}


def test_a_format_that_the_server_refuses_is_stepped_down(checker, tmp_path):
    """vLLM writes the refusal into `error`, whole, and its status into `response`."""
    assert found(checker) == {"pending": 5}
    folder = tmp_path / "llm"
    (refused,) = (folder / "requests").glob("offline-*.jsonl")
    fault = {"message": "json_schema is not supported", "type": "BadRequestError", "param": None, "code": 400}
    lines = [
        {"id": "vllm-1", "custom_id": orjson.loads(text)["custom_id"], "response": {"status_code": 400}, "error": fault}
        for text in refused.read_bytes().splitlines()
    ]
    (folder / "answers" / "refused.jsonl").write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in lines))
    assert found(checker) == {"pending": 5}
    (again,) = set((folder / "requests").glob("offline-*.jsonl")) - {refused}
    assert {orjson.loads(text)["body"]["response_format"]["type"] for text in again.read_bytes().splitlines()} == {
        "json_object"
    }
    refused.unlink()
    run_batch(folder)
    assert found(checker) == {"supported": 5}
