-- says: Every pair with its one outcome (auto-passed, checked, not-checked or dangling: these sum up to pairs), by keys.
-- grain: (claim, target)
-- key: pair_id
-- asks: the other views; ask pair_outcomes for the same with names
-- columns:
--   pair_id, document_key, source_key, pair_index, sentence, claim, marker, strong: as in pairs
--   outcome: auto-passed, checked, not-checked or dangling.
--   reason: Why it is dangling or was not checked.
--   verdict: Verdict; of a pair that passed without a reader supported; null where nobody graded it.
--   contradicted: as in verdicts
--   rule: as in triage
--   selected, stratum, probability: as in batches
--   severity, confidence, checker, model, correct_source_key: as in verdicts
--   evidence: Words of the source that it rests on.
SELECT
    p.pair_id,
    p.document_key,
    p.source_key,
    p.pair_index,
    p.sentence,
    p.claim,
    p.marker,
    p.strong,
    CASE
        WHEN p.status = 'dangling' THEN 'dangling'
        WHEN t.outcome = 'auto-passed' THEN 'auto-passed'
        WHEN coalesce(v.checked, FALSE) THEN 'checked'
        ELSE 'not-checked'
    END AS outcome,
    CASE
        WHEN p.status = 'dangling' THEN coalesce(p.reason, 'no-source')
        WHEN t.outcome = 'auto-passed' OR coalesce(v.checked, FALSE) THEN NULL
        ELSE coalesce(v.not_checked_reason, p.reason, 'missing-answer')
    END AS reason,
    CASE
        WHEN p.status = 'dangling' THEN NULL
        WHEN t.outcome = 'auto-passed' THEN 'supported'
        WHEN coalesce(v.checked, FALSE) THEN v.verdict
    END AS verdict,
    coalesce(v.contradicted, FALSE) AS contradicted,
    t.rule,
    b.selected,
    b.stratum,
    b.probability,
    v.severity,
    v.confidence,
    v.checker,
    v.model,
    v.correct_source_key,
    CASE WHEN t.outcome = 'auto-passed' THEN t.evidence ELSE v.evidence END AS evidence
FROM pairs AS p
LEFT JOIN triage AS t USING (pair_id)
LEFT JOIN batches AS b USING (pair_id)
LEFT JOIN verdicts AS v USING (pair_id)
