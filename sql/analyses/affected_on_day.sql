-- says: Documents that cited a retracted work without saying so, as known on a day.
-- grain: (document, work)
-- key: document_key, work_id
-- asks: the integrity officer: what did we know on day X?
-- params: day = 2026-03-04
SELECT
    d.corpus,
    d.document_id,
    m.document_key,
    m.work_id,
    s.date AS notice_date,
    s.notice_url,
    s.registers
FROM doi_statuses AS s
JOIN doi_mentions AS m USING (work_id)
JOIN documents AS d USING (document_key)
WHERE
    s.status = 'retracted'
    AND s.valid_from <= CAST($day AS DATE)
    AND (s.valid_to IS NULL OR s.valid_to > CAST($day AS DATE))
    AND NOT m.noted_in_document
    AND (m.cited OR m.start IS NOT NULL)
ORDER BY d.corpus, d.document_id, m.work_id
