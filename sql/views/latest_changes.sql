-- says: What the last finished night changed, item by item, each with its cause.
-- grain: (document, thing)
-- key: document_key, what, pair_id, quote_id, work_id, source_key
-- asks: the operator, in the morning
-- columns:
--   corpus, document_id: as in documents
--   run_id, document_key, pair_id, quote_id, work_id, source_key, source_id, what, before, after, cause: as in changes
SELECT
    d.corpus,
    d.document_id,
    c.*
FROM changes AS c
LEFT JOIN documents AS d USING (document_key)
WHERE c.run_id = (SELECT arg_max(run_id, finished_at) FROM runs)
ORDER BY d.corpus, d.document_id, c.what, c.pair_id, c.quote_id, c.work_id, c.source_key
