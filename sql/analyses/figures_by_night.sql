-- says: One fleet figure over the nights, with its interval.
-- grain: (night, run)
-- key: run_id
-- asks: the analyst: is the archive getting better?
-- params: corpus = *, metric = supported_share
-- columns:
--   night: Night of the run (UTC).
--   run_id, value, low, high, n: as in metrics
--   difference: value minus that of the run before.
SELECT
    r.night,
    m.run_id,
    m.value,
    m.low,
    m.high,
    m.n,
    m.value - lag(m.value) OVER (ORDER BY r.started_at) AS difference
FROM metrics AS m
JOIN runs AS r USING (run_id)
WHERE m.corpus = $corpus AND m.metric = $metric
ORDER BY r.started_at
