-- says: The fleet figures of the last finished night, with their intervals.
-- grain: (corpus, metric)
-- key: corpus, metric
-- asks: everyone
-- columns:
--   corpus, metric, value, low, high, n, run_id: as in metrics
SELECT
    m.corpus,
    m.metric,
    m.value,
    m.low,
    m.high,
    m.n,
    m.run_id
FROM metrics AS m
WHERE m.run_id = (SELECT arg_max(run_id, finished_at) FROM runs)
ORDER BY m.corpus, m.metric
