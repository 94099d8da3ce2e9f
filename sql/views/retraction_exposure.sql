-- says: Documents that cite a work with a notice (retracted, concern, corrected), as known today.
-- grain: (document, cited work with a notice)
-- key: document_key, work_id
-- asks: the integrity officer
-- columns:
--   corpus, document_id, title, document_key: as in documents
--   work_id, doi: as in doi_mentions
--   status, date, notice_url, flags, registers, disagreement, stale: as in doi_statuses
--   cited: as in retracted_citations
--   noted_in_document: as in doi_mentions
--   blocks: as in retracted_citations
SELECT
    d.corpus,
    d.document_id,
    d.title,
    m.document_key,
    m.work_id,
    m.doi,
    s.status,
    s.date,
    s.notice_url,
    s.flags,
    s.registers,
    s.disagreement,
    s.stale,
    m.cited OR m.start IS NOT NULL AS cited,
    m.noted_in_document,
    s.status = 'retracted' AND NOT m.noted_in_document AND (m.cited OR m.start IS NOT NULL) AS blocks
FROM doi_mentions AS m
JOIN documents AS d USING (document_key)
JOIN doi_statuses AS s USING (work_id)
WHERE s.valid_to IS NULL AND s.status IN ('retracted', 'expression-of-concern', 'corrected')
ORDER BY blocks DESC, s.date DESC NULLS LAST, d.corpus, d.document_id, m.work_id
