-- says: Changes that no moved component explains: there should be none.
-- grain: (run, document, thing)
-- key: run_id, document_key, what, pair_id, quote_id, work_id
-- asks: the operator: can the diff be trusted?
SELECT
    c.run_id,
    d.corpus,
    d.document_id,
    c.document_key,
    c.what,
    c.pair_id,
    c.quote_id,
    c.work_id,
    c.before,
    c.after
FROM changes AS c
LEFT JOIN documents AS d USING (document_key)
WHERE c.cause = 'unexplained'
ORDER BY c.run_id, d.corpus, d.document_id, c.what, c.pair_id, c.quote_id, c.work_id
