-- says: Works on which registers disagree today, by how many documents cite them.
-- grain: work
-- key: work_id
-- asks: the integrity officer: where must a person decide?
-- columns:
--   work_id, status, disagreement, registers: as in doi_statuses
--   documents: Documents that cite the work.
SELECT
    s.work_id,
    s.status,
    s.disagreement,
    s.registers,
    count(DISTINCT m.document_key) AS documents
FROM doi_statuses AS s
LEFT JOIN doi_mentions AS m USING (work_id)
WHERE s.valid_to IS NULL AND s.disagreement IS NOT NULL
GROUP BY ALL
ORDER BY documents DESC, s.work_id
