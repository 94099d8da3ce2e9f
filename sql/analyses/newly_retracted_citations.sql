-- says: Documents that cite a work whose retraction became known between two days (both included).
-- grain: (document, work)
-- key: document_key, work_id
-- asks: the integrity officer: which documents cite a paper retracted this week?
-- params: first = 2026-03-01, last = 2026-03-07
SELECT
    d.corpus,
    d.document_id,
    d.title,
    m.document_key,
    m.work_id,
    s.valid_from AS known_from,
    s.date AS notice_date,
    s.notice_url,
    m.noted_in_document
FROM doi_statuses AS s
JOIN doi_mentions AS m USING (work_id)
JOIN documents AS d USING (document_key)
WHERE
    s.status = 'retracted'
    AND s.valid_from BETWEEN CAST($first AS DATE) AND CAST($last AS DATE)
ORDER BY s.valid_from DESC, d.corpus, d.document_id, m.work_id
