-- says: What was known about each cited work on a day, and how many documents cite it.
-- grain: cited work
-- key: work_id
-- asks: the integrity officer
-- params: day = 2026-03-04
-- columns:
--   work_id, doi, status, date, notice_url, flags, registers, disagreement, stale, reason: as in doi_statuses
--   documents: Documents that cite the work now.
SELECT
    s.work_id,
    s.doi,
    s.status,
    s.date,
    s.notice_url,
    s.flags,
    s.registers,
    s.disagreement,
    s.stale,
    s.reason,
    count(DISTINCT m.document_key) AS documents
FROM doi_statuses AS s
LEFT JOIN doi_mentions AS m USING (work_id)
WHERE s.valid_from <= CAST($day AS DATE) AND (s.valid_to IS NULL OR s.valid_to > CAST($day AS DATE))
GROUP BY ALL
ORDER BY s.work_id
