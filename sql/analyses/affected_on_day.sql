-- says: Documents that cited a retracted work without saying so, as known on a day.
-- grain: (document, work)
-- key: document_key, work_id
-- asks: the integrity officer: what did we know on day X?
-- params: day = 2026-03-04
-- columns:
--   corpus, document_id: as in documents
--   document_date: as in retracted_citations
--   document_key: as in documents
--   work_id, retracted_from, notice_date, notice_url, registers, cited_when: as in retracted_citations
SELECT
    corpus,
    document_id,
    document_date,
    document_key,
    work_id,
    retracted_from,
    notice_date,
    notice_url,
    registers,
    cited_when
FROM retracted_citations
WHERE
    blocks
    AND retracted_from <= CAST($day AS DATE)
    AND (retracted_to IS NULL OR retracted_to > CAST($day AS DATE))
ORDER BY corpus, document_id, work_id
