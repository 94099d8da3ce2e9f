-- says: The receipt of each document as of the last run, with the document's own words for itself.
-- grain: document
-- key: document_key
-- asks: everyone; the start of most questions
-- columns:
--   corpus, document_id, title, date, status, reason, document_key: as in documents
--   receipt_id, digest, run_id, created_at, passed, state, current: as in receipts
SELECT
    d.corpus,
    d.document_id,
    d.title,
    d.date,
    d.status,
    d.reason,
    r.*
FROM receipts AS r
JOIN documents AS d USING (document_key)
WHERE r.current
