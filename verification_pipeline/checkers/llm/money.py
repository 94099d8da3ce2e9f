"""Money: what a request may cost, what it did cost, and whose documents it was for. Cents, as floats, not rounded."""

from __future__ import annotations

from dataclasses import dataclass

from verification_pipeline.checkers.llm.answers import Usage
from verification_pipeline.checkers.llm.ledger import Ledger
from verification_pipeline.checkers.llm.requests import Request
from verification_pipeline.config import OpenAI, Price

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """What asking would take, before anything is sent. `cents` is None where the model has no price."""

    pairs: int
    answered: int
    """Pairs whose answer is stored: they cost nothing."""
    pending: int
    requests: int
    input_tokens: int
    output_tokens: int
    cents: float | None

    def __add__(self, other: Estimate) -> Estimate:
        known = self.cents is not None and other.cents is not None
        return Estimate(
            self.pairs + other.pairs,
            self.answered + other.answered,
            self.pending + other.pending,
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            (self.cents or 0.0) + (other.cents or 0.0) if known else None,
        )


@dataclass(frozen=True, slots=True)
class Spent:
    """What one model cost in one mode. `possibly` is reserved for requests whose answer never came back."""

    model: str
    mode: str
    requests: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cents: float
    possibly: float


@dataclass(frozen=True, slots=True)
class DocumentCost:
    """What a document's pairs cost: how many were put before a model, and its share of those requests."""

    llm_pairs: int
    cents: float


def price_of(rules: OpenAI) -> Price | None:
    """The price of the configured model."""
    return rules.prices.get(rules.model)


def cents_of(usage: Usage, price: Price | None, mode: str) -> float | None:
    """What a provider asks for these tokens. Offline files are run by oneself and cost nothing here."""
    if mode == "offline-file":
        return 0.0
    if price is None:
        return None
    fresh = usage.input - usage.cached
    full = (fresh * price.input + usage.cached * price.cached_input + usage.output * price.output) / _MILLION
    return full * (price.batch_share if mode == "batch" else 1.0)


def most_of(request: Request, rules: OpenAI) -> float:
    """The most a request may cost: no token cached, every output token used. 0 where the model has no price."""
    output = rules.answer_tokens_base + rules.answer_tokens_per_pair * len(request.questions)
    return cents_of(Usage(request.input_tokens, 0, output), price_of(rules), rules.mode) or 0.0


def likely(requests: list[Request], rules: OpenAI, *, pairs: int, answered: int, pending: int) -> Estimate:
    """The estimate of requests that would be sent."""
    tokens = sum(request.input_tokens for request in requests)
    output = sum(request.likely_output_tokens for request in requests)
    cents = cents_of(Usage(tokens, 0, output), price_of(rules), rules.mode)
    return Estimate(pairs, answered, pending, len(requests), tokens, output, cents)


def spending(ledger: Ledger, run: str | None = None, since: float | None = None) -> list[Spent]:
    """Actuals by model and mode: of all requests, or of those of one run and those that came back since a moment."""
    sql = (
        "SELECT model, mode, COUNT(*), COALESCE(SUM(input), 0), COALESCE(SUM(cached), 0), COALESCE(SUM(output), 0),"
        " COALESCE(SUM(reasoning), 0), COALESCE(SUM(cents), 0.0),"
        " COALESCE(SUM(CASE WHEN state IN ('sent', 'lost') THEN expected_cents END), 0.0)"
        " FROM requests WHERE (?1 IS NULL AND ?2 IS NULL) OR run = ?1 OR done_at >= ?2"
        " GROUP BY model, mode ORDER BY model, mode"
    )
    return [Spent(*row) for row in ledger.read(sql, run, since)]


def runs_paid_since(ledger: Ledger, moment: float) -> list[str]:
    """Runs whose requests were sent or answered since then (seconds since 1970): those whose costs may have moved."""
    rows = ledger.read("SELECT DISTINCT run FROM requests WHERE sent_at >= ?1 OR done_at >= ?1 ORDER BY run", moment)
    return [str(run) for (run,) in rows]


def allocated(ledger: Ledger, run: str | None = None, since: float | None = None) -> dict[str, DocumentCost]:
    """What each document cost, in one run or in all; the shares of a request add up to its cost.

    With `since`: by requests that came back since that moment. A batch comes back in another night than it was sent in,
    or between nights, and what a killed run had paid is told by the one that takes its place.

    A request is shared evenly by its questions, a question by the pairs that asked it when it was sent. Who finds an
    answer that is there already pays nothing.
    """
    sql = """
        WITH sizes AS (SELECT request, COUNT(*) AS n FROM questions GROUP BY request),
        pairs AS (SELECT request, key, SUM(pairs) AS n FROM askers GROUP BY request, key),
        shares AS (
            SELECT a.document_key, a.key, a.pairs,
                   COALESCE(r.cents, 0.0) / sizes.n * a.pairs / pairs.n AS cents
            FROM askers a JOIN requests r ON r.id = a.request JOIN sizes ON sizes.request = a.request
            JOIN pairs ON pairs.request = a.request AND pairs.key = a.key
            WHERE (?1 IS NULL OR r.run = ?1) AND (?2 IS NULL OR r.done_at >= ?2)
        ),
        questions_of AS (
            SELECT document_key, key, MAX(pairs) AS pairs, SUM(cents) AS cents FROM shares GROUP BY document_key, key
        )
        SELECT document_key, SUM(pairs), SUM(cents) FROM questions_of GROUP BY document_key ORDER BY document_key
    """
    return {key: DocumentCost(pairs, cents) for key, pairs, cents in ledger.read(sql, run, since)}
