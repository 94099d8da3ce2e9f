-- says: Changes that no moved component explains: there should be none.
-- grain: (run, document, thing)
-- key: run_id, document_key, what, pair_id, quote_id, work_id, source_key
-- asks: the operator: can the diff be trusted?
-- columns:
--   run_id: as in changes
--   corpus, document_id, document_key: as in documents
--   what, pair_id, quote_id, work_id, source_key, before, after: as in changes
SELECT
    c.run_id,
    d.corpus,
    d.document_id,
    c.document_key,
    c.what,
    c.pair_id,
    c.quote_id,
    c.work_id,
    c.source_key,
    c.before,
    c.after
FROM changes AS c
LEFT JOIN documents AS d USING (document_key)
WHERE c.cause = 'unexplained'
ORDER BY c.run_id, d.corpus, d.document_id, c.what, c.pair_id, c.quote_id, c.work_id, c.source_key
