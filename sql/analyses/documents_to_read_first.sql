-- says: Documents by how much of them nobody settled, strong claims counted double.
-- grain: document
-- key: document_key
-- asks: the editor: where is a human hour best spent?
-- params: limit = 20
-- columns:
--   corpus, document_id, document_key: as in documents
--   pairs: Pairs of a claim and a cited target.
--   not_checked: Pairs with a source that nobody graded.
--   strong_not_checked: Of these, strong claims.
--   doubtful: Graded with a confidence under 0.7.
--   weight: not_checked + strong_not_checked + doubtful.
SELECT
    corpus,
    document_id,
    document_key,
    count(*) AS pairs,
    count(*) FILTER (WHERE outcome = 'not-checked') AS not_checked,
    count(*) FILTER (WHERE outcome = 'not-checked' AND strong) AS strong_not_checked,
    count(*) FILTER (WHERE outcome = 'checked' AND confidence < 0.7) AS doubtful,
    not_checked + strong_not_checked + doubtful AS weight
FROM pair_outcomes
GROUP BY corpus, document_id, document_key
HAVING not_checked + doubtful > 0
ORDER BY weight DESC, corpus, document_id
LIMIT $limit
