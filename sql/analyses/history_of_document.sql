-- says: The receipts of one document, oldest first, and which one stands.
-- grain: receipt
-- key: receipt_id
-- asks: everyone: when did this document stop passing?
-- params: corpus = notes, document_id = 2024-05-01
-- columns:
--   created_at, run_id, state, passed, current, receipt_id, digest: as in receipts
SELECT
    r.created_at,
    r.run_id,
    r.state,
    r.passed,
    r.current,
    r.receipt_id,
    r.digest
FROM receipts AS r
JOIN documents AS d USING (document_key)
WHERE d.corpus = $corpus AND d.document_id = $document_id
ORDER BY r.created_at, r.digest
