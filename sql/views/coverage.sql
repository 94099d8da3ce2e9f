-- says: How much of each corpus was really read, and why the rest was not; the counts sum up to its pairs.
-- grain: (corpus, outcome, reason)
-- key: corpus, outcome, reason
-- asks: the analyst
SELECT
    corpus,
    outcome,
    reason,
    count(*) AS pairs,
    count(DISTINCT document_key) AS documents,
    count(*) / sum(count(*)) OVER (PARTITION BY corpus) AS share
FROM pair_outcomes
GROUP BY corpus, outcome, reason
ORDER BY corpus, outcome, reason NULLS FIRST
