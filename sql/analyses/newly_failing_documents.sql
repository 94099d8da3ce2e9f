-- says: Documents that stopped passing in a night, with the cause.
-- grain: document
-- key: document_key
-- asks: the operator: what broke last night?
-- params: run_id = run-2
-- columns:
--   corpus, document_id, title, document_key: as in documents
--   before: State before.
--   after: State after.
--   cause: as in changes
SELECT
    d.corpus,
    d.document_id,
    d.title,
    c.document_key,
    c.before,
    c.after,
    c.cause
FROM changes AS c
JOIN documents AS d USING (document_key)
WHERE c.run_id = $run_id AND c.what = 'state' AND c.after <> 'passed'
ORDER BY d.corpus, d.document_id
