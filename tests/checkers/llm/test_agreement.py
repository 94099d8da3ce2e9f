"""Batches beside single pairs: figures by hand, and the command against a model that minds its company."""

from __future__ import annotations

import json

import pytest

from tests.builders import evidence, item
from tests.servers.reader import rows_of
from tests.servers.scripted import KEY, Script, serving
from tests.support.corpora import harbour
from verification_pipeline import cli
from verification_pipeline.checkers.llm import agreement
from verification_pipeline.checkers.protocol import Judgement, NotChecked

SOURCES = [evidence(str(n), f"Mill {n} ground {n} tonnes. Mill {n} closed in 19{n:02}.") for n in range(6)]
CASES = [item(f"Mill {n} ground {n + k} tonnes.", source) for n, source in enumerate(SOURCES) for k in (0, 1)]


def outcomes(*words):
    return [NotChecked("p", word) if word.endswith("error") else Judgement("p", word, "Because.") for word in words]


def test_figures_by_hand():
    """Of 10 judged both ways 8 agree; chance agreement is (6·5 + 4·5) / 100."""
    first = outcomes(*["supported"] * 6, *["unsupported"] * 4, "provider-error")
    second = outcomes(*["supported"] * 5, "unsupported", "supported", *["unsupported"] * 3, "supported")
    second[6] = Judgement("p", "partially-supported", "Because.")
    found = agreement.compare(first, second)
    assert (found.pairs, found.judged_both, found.agreed) == (11, 10, 8)
    assert found.share == pytest.approx((0.8, 0.4902, 0.9433), abs=1e-3)
    assert found.kappa[0] == pytest.approx((0.8 - 0.46) / (1 - 0.46))
    assert found.flips["supported"].into == {"unsupported": 1}
    assert (found.flips["unsupported"].pairs, found.flips["unsupported"].flipped) == (4, 1)
    assert found.not_judged == {"provider-error": (1, 0)}


def test_a_single_verdict_has_no_kappa():
    found = agreement.compare(outcomes("supported"), outcomes("supported"))
    assert (found.share[0], found.kappa) == (1.0, None)


def test_a_model_that_minds_company_is_seen(serve, checker_for, tmp_path):
    """It calls everything supported that is not alone in its request."""

    def judge(prompt):
        rows = rows_of(prompt)
        words = prompt.source.split(".")[0]
        return [{**row, "verdict": "supported", "evidence": words} for row in rows] if len(rows) > 1 else rows

    server = serve(Script(judge=judge))
    found = agreement.ask(CASES, checker_for(server))
    assert found["alone, then in batches"].flips["contradicted"].into == {"supported": 6}
    assert found["alone, then in batches"].kappa[0] == pytest.approx(0)
    assert found["alone, then alone again"].agreed == 12
    assert len(server.script.requests) == 6 + 12 + 12
    agreement.ask(CASES, checker_for(server))
    assert len(server.script.requests) == 30, "a second look costs nothing"


def test_sources_are_drawn_whole_and_by_seed():
    def ids(cases, seed):
        return {one.pair.pair_id for one in agreement.drawn(cases, 3, seed)}

    assert len(ids(CASES, 1)) == 4
    assert ids(CASES, 1) == ids(CASES[::-1], 1)
    assert len({frozenset(ids(CASES, seed)) for seed in range(5)}) > 1


def test_the_command_on_a_store(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving() as server:
        settings = tmp_path / "settings.toml"
        settings.write_text(f'[checker.openai]\nbase_url = "{server.base_url}"\n', "utf-8")
        out = str(tmp_path / "out")
        cli.app(
            ["run", str(harbour(tmp_path / "harbour")), "--out", out, "--workers", "1", "--checker", "none"],
            standalone_mode=False,
        )
        capsys.readouterr()
        agreement.main(["--out", out, "--config", str(settings), "--estimate"])
        assert json.loads(capsys.readouterr().out)["requests"] >= 3
        assert server.script.requests == []
        agreement.main(["--out", out, "--config", str(settings)])
        said = capsys.readouterr().out
    assert "alone, then in batches" in said
    assert "agreement 1.000" in said
