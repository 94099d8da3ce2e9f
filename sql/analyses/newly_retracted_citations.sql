-- says: Documents that cite a work which became retracted between two days (both included).
-- grain: (document, work, run of days on which it reads as retracted)
-- key: document_key, work_id, retracted_from
-- asks: the integrity officer: which documents cite a paper retracted this week?
-- params: first = 2026-03-01, last = 2026-03-07
-- columns:
--   corpus, document_id, title: as in documents
--   document_date: as in retracted_citations
--   document_key: as in documents
--   work_id, retracted_from, notice_date, notice_url, cited_when, noted_in_document, blocks: as in retracted_citations
SELECT
    corpus,
    document_id,
    title,
    document_date,
    document_key,
    work_id,
    retracted_from,
    notice_date,
    notice_url,
    cited_when,
    noted_in_document,
    blocks
FROM retracted_citations
WHERE
    retracted_from BETWEEN CAST($first AS DATE) AND CAST($last AS DATE)
    -- of a work never looked at before, only the notice can say that it was retracted already
    AND NOT (first_look AND notice_date IS NOT NULL AND notice_date < CAST($first AS DATE))
ORDER BY retracted_from DESC, corpus, document_id, work_id
