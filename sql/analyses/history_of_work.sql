-- says: What was known about one work, period by period.
-- grain: period
-- key: work_id, valid_from
-- asks: the integrity officer: since when do we know?
-- params: work_id = doi:10.5555/ok.1
-- columns:
--   work_id, valid_from, valid_to, status: as in doi_statuses
--   notice_date: Day of the notice, where the register gives one.
--   notice_url, flags, registers, disagreement, stale: as in doi_statuses
SELECT
    work_id,
    valid_from,
    valid_to,
    status,
    date AS notice_date,
    notice_url,
    flags,
    registers,
    disagreement,
    stale
FROM doi_statuses
WHERE work_id = $work_id
ORDER BY valid_from
