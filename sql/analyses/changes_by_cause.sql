-- says: What changed in a night, by cause and by kind of thing.
-- grain: (cause, kind of thing)
-- key: cause, what
-- asks: the operator: what changed, and why?
-- params: run_id = run-2
-- columns:
--   cause, what: as in changes
--   changes: Rows of `changes`.
--   documents: Documents with such a change.
SELECT
    cause,
    what,
    count(*) AS changes,
    count(DISTINCT document_key) AS documents
FROM changes
WHERE run_id = $run_id
GROUP BY cause, what
ORDER BY documents DESC, cause, what
