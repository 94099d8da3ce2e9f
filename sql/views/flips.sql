-- says: Pairs whose verdict turned from one night to the next, each with its cause; `unexplained` is to be looked into.
-- grain: (run, pair)
-- key: run_id, pair_id
-- asks: the operator: can a verdict be relied on?
-- columns:
--   run_id: as in changes
--   night: Night of the run (UTC).
--   corpus, document_id, document_key: as in documents
--   pair_id, claim: as in pairs
--   before: Verdict before; a pair that passed without a reader reads as supported.
--   after: Verdict after.
--   cause: as in changes
--   unexplained: Whether nothing that moved explains it.
WITH turned AS (
    SELECT
        run_id,
        document_key,
        pair_id,
        CASE WHEN before = 'auto-passed' THEN 'supported' ELSE replace(before, ' (contradicted)', '') END AS was,
        CASE WHEN after = 'auto-passed' THEN 'supported' ELSE replace(after, ' (contradicted)', '') END AS is_now,
        cause
    FROM changes
    WHERE what = 'pair'
)

SELECT
    t.run_id,
    r.night,
    d.corpus,
    d.document_id,
    t.document_key,
    t.pair_id,
    p.claim,
    t.was AS before,
    t.is_now AS after,
    t.cause,
    t.cause = 'unexplained' AS unexplained
FROM turned AS t
JOIN runs AS r USING (run_id)
LEFT JOIN documents AS d ON d.document_key = t.document_key
LEFT JOIN pairs AS p ON p.pair_id = t.pair_id
WHERE
    t.was IN ('supported', 'partially-supported', 'unsupported', 'wrong-source')
    AND t.is_now IN ('supported', 'partially-supported', 'unsupported', 'wrong-source')
    AND t.was <> t.is_now
ORDER BY r.night DESC, t.run_id, d.corpus, d.document_id, t.pair_id
