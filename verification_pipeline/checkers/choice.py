"""Which checker the settings name. Imports a kind only when it is chosen: clients and models are slow to load."""

from __future__ import annotations

from pathlib import Path

from verification_pipeline.checkers.protocol import Checker, Run
from verification_pipeline.config import Settings
from verification_pipeline.errors import CheckerError
from verification_pipeline.store import Store


def checker_of(settings: Settings, store: Store, run: Run | None = None) -> Checker:
    """The configured checker, for a run (without one, a run of its own). CheckerError when it cannot work."""
    rules = settings.checker
    if rules.kind == "none":
        from verification_pipeline.checkers.none import NoChecker

        return NoChecker()
    if rules.kind == "replay":
        from verification_pipeline.checkers.replay import ReplayChecker

        if rules.replay_path is None:
            raise CheckerError("the replay checker needs recorded answers: set checker.replay_path")
        return ReplayChecker.read(Path(rules.replay_path))
    if rules.kind == "lexical":
        from verification_pipeline.checkers.lexical import LexicalChecker

        return LexicalChecker(rules.lexical)
    if rules.kind == "embedded":
        return _embedded(settings)
    if rules.kind == "openai":
        return _openai(settings, store, run)
    from verification_pipeline.checkers.cascade import Cascade

    return Cascade(_embedded(settings), _openai(settings, store, run))


def _embedded(settings: Settings) -> Checker:
    from verification_pipeline.checkers.embedded import EmbeddedChecker

    return EmbeddedChecker(settings.checker.embedded)


def _openai(settings: Settings, store: Store, run: Run | None) -> Checker:
    from verification_pipeline.checkers.llm.checker import LLMChecker, new_run

    return LLMChecker(settings.checker.openai, store.secret, store.root / "llm", run or new_run())
