"""Do the registers and the model answer: one small question to each that the settings name.

Asked only on request. Keys come from where the settings say and go to the server alone: a finding names the variable,
never its value.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any

import httpx2
from openai import APIStatusError, OpenAI, OpenAIError

from verification_pipeline import config
from verification_pipeline.checkers.llm.client import tls
from verification_pipeline.checkers.llm.credentials import key_of
from verification_pipeline.config import Registers
from verification_pipeline.dois import crossref, openalex, pubmed
from verification_pipeline.dois.online import Answers
from verification_pipeline.errors import CheckerError
from verification_pipeline.operations.findings import Finding

_PMID = "9500320"
"""PubMed id of the first default canary: the retracted paper that every register must know."""

Ask = Callable[[Sequence[str], Registers], Coroutine[Any, Any, Answers]]


def registers(settings: Registers) -> Iterator[Finding]:
    """Whether each online register answers about a work that it must know as retracted."""
    quick = settings.model_copy(update={"attempts": 1, "timeout_seconds": min(settings.timeout_seconds, 15)})
    asks: tuple[tuple[str, bool, Ask, str], ...] = (
        (crossref.REGISTER, settings.crossref, crossref.ask, settings.canaries[0] if settings.canaries else ""),
        (openalex.REGISTER, settings.openalex, openalex.ask, settings.canaries[0] if settings.canaries else ""),
        (pubmed.REGISTER, settings.pubmed, pubmed.ask, _PMID),
    )
    for name, configured, ask, work in asks:
        if configured and work:
            yield _answer(name, asyncio.run(ask([work], quick)), work)


def _answer(name: str, answers: Answers, work: str) -> Finding:
    outcome = answers.outcomes.get(work, "failed:no answer")
    subject = f"{name} reachable"
    if outcome == "found":
        return Finding(subject, "ok", f"answers, and knows {work} as retracted")
    reason = outcome.removeprefix("failed:")
    if outcome.startswith("failed:"):
        return Finding(subject, "failed", reason, "check the network and the address in [registers]; nights go on")
    return Finding(subject, "failed", f"does not know {work} as retracted ({reason})", "is the address right?")


def key_is_set(rules: config.OpenAI) -> Iterator[Finding]:
    """Whether there is a key for the model's server. Asks nobody."""
    try:
        key_of(rules)
    except CheckerError as error:
        yield Finding("model key", "failed", str(error), f"set {rules.api_key_env}")
        return
    place = rules.api_key_env if os.environ.get(rules.api_key_env) else str(rules.api_key_file)
    yield Finding("model key", "ok", f"found in {place}")


def model(rules: config.OpenAI) -> Iterator[Finding]:
    """Whether the model's server answers, takes the key and lists the model. Without a key nobody is asked."""
    try:
        key = key_of(rules)
    except CheckerError:
        return
    subject, where = "model reachable", rules.base_url or "the provider"
    timeout = min(rules.timeout_seconds, 15)
    http = httpx2.Client(verify=tls(), timeout=timeout, follow_redirects=False)
    with OpenAI(
        api_key=key.reveal(), base_url=rules.base_url, max_retries=0, timeout=timeout, http_client=http
    ) as client:
        try:
            listed = {one.id for one in client.models.list()}
        except APIStatusError as error:
            yield Finding(subject, "failed", f"{where} answers HTTP {error.status_code}", "check base_url and the key")
            return
        except OpenAIError as error:
            words = key.out_of(f"{where} does not answer: {error}")
            yield Finding(subject, "failed", words, "start the server, or check checker.openai.base_url")
            return
    if rules.model in listed:
        yield Finding(subject, "ok", f"{where} offers {rules.model}")
    else:
        words = f"{where} does not list {rules.model} ({len(listed)} others)"
        yield Finding(subject, "warning", words, "check checker.openai.model")
