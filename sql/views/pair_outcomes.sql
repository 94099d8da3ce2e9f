-- says: Every pair with its one outcome, and the words of its document and source for themselves.
-- grain: (claim, target)
-- key: pair_id
-- asks: everyone; the base of most questions
SELECT
    d.corpus,
    d.document_id,
    p.*,
    s.source_id,
    s.url
FROM pair_states AS p
JOIN documents AS d USING (document_key)
LEFT JOIN sources AS s ON s.source_key = p.source_key
