-- says: What each checker, model and prompt decided, and how sure it was.
-- grain: (checker, model, prompt, verdict)
-- key: checker, model, prompt_version, verdict
-- asks: the analyst: do the checkers judge alike?
-- columns:
--   checker, model, prompt_version, verdict: as in verdicts
--   pairs: Pairs with this verdict.
--   share: Of the pairs that this checker, model and prompt graded.
--   mean_confidence: Mean confidence of these verdicts.
--   least_confidence: Least confidence among them.
SELECT
    checker,
    model,
    prompt_version,
    verdict,
    count(*) AS pairs,
    count(*) / sum(count(*)) OVER (PARTITION BY checker, model, prompt_version) AS share,
    round(avg(confidence), 4) AS mean_confidence,
    min(confidence) AS least_confidence
FROM verdicts
WHERE checked
GROUP BY checker, model, prompt_version, verdict
ORDER BY checker, model NULLS FIRST, prompt_version NULLS FIRST, verdict
