-- says: Sources that are not what they were when first read: drifted, lost, added later, or as they first were again.
-- grain: source that moved
-- key: source_key
-- asks: the operator and the analyst: which evidence does not stand any more where it was found?
-- columns:
--   state: drifted (another text than first read), lost, added, or restored (as first read).
--   corpus: as in documents
--   source_id, source_key: as in changes
--   title, url, status, reason: as in sources
--   read_first: Hash of the text that was read before the first move, else the status it had.
--   read_last: The same after the last move; null when the document has it no more.
--   moved_first: Night of the first move.
--   moved_last: Night of the last.
--   moves: Runs that saw it move.
--   documents: Documents whose receipt moved with it.
--   pairs: Pairs that cite it now.
WITH moves AS (
    SELECT
        c.source_key,
        any_value(c.source_id) AS source_id,
        arg_min(c.before, r.started_at) AS first_before,
        arg_max(c.after, r.started_at) AS last_after,
        min(r.night) AS moved_first,
        max(r.night) AS moved_last,
        count(DISTINCT c.run_id) AS moves,
        count(DISTINCT c.document_key) AS documents
    FROM changes AS c
    JOIN runs AS r USING (run_id)
    WHERE c.what = 'source'
    GROUP BY c.source_key
)

SELECT
    CASE
        WHEN coalesce(length(m.last_after), 0) <> 64 THEN 'lost'
        WHEN m.first_before = m.last_after THEN 'restored'
        WHEN coalesce(length(m.first_before), 0) <> 64 THEN 'added'
        ELSE 'drifted'
    END AS state,
    s.corpus,
    m.source_id,
    m.source_key,
    s.title,
    s.url,
    s.status,
    s.reason,
    m.first_before AS read_first,
    m.last_after AS read_last,
    m.moved_first,
    m.moved_last,
    m.moves,
    m.documents,
    count(p.pair_id) AS pairs
FROM moves AS m
LEFT JOIN sources AS s ON s.source_key = m.source_key
LEFT JOIN pairs AS p ON p.source_key = m.source_key
GROUP BY ALL
ORDER BY m.moved_last DESC, state, s.corpus, m.source_id, m.source_key
