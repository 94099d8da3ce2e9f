"""What children of `llm_kill` need, loaded once: imported by the fork server before it forks."""

from verification_pipeline.checkers.llm import checker, tokens

tokens.count(checker.__name__)
