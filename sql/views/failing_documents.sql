-- says: Documents that did not clear the gate, with what failed, worst first.
-- grain: document
-- key: document_key
-- asks: the operator, in the morning
-- columns:
--   corpus, document_id, title, document_key: as in documents
--   dangling: Pairs whose target has no source.
--   unsupported: Graded unsupported.
--   wrong_source: Graded wrong-source.
--   altered_quotes: Quotations with other words than the source.
--   quotes_not_found: Quotations found in no cited source.
--   retracted_unacknowledged: Retracted works that the text cites without saying so.
--   leaks: Places where prompts, tags or placeholders leaked.
--   receipt_since: When the standing receipt was first made.
WITH cited AS (
    SELECT
        document_key,
        count(*) FILTER (WHERE outcome = 'dangling') AS dangling,
        count(*) FILTER (WHERE outcome = 'checked' AND verdict = 'unsupported') AS unsupported,
        count(*) FILTER (WHERE outcome = 'checked' AND verdict = 'wrong-source') AS wrong_source
    FROM pair_states
    GROUP BY document_key
),

quoted AS (
    SELECT
        document_key,
        count(*) FILTER (WHERE status = 'altered') AS altered_quotes,
        count(*) FILTER (WHERE status = 'not-found') AS quotes_not_found
    FROM quotes
    GROUP BY document_key
),

exposed AS (
    SELECT document_key, count(*) AS retracted_unacknowledged
    FROM retraction_exposure
    WHERE blocks
    GROUP BY document_key
),

leaking AS (
    SELECT document_key, count(*) AS leaks
    FROM findings_in_text
    WHERE kind = 'scaffold-leak'
    GROUP BY document_key
)

SELECT
    r.corpus,
    r.document_id,
    r.title,
    r.document_key,
    coalesce(cited.dangling, 0) AS dangling,
    coalesce(cited.unsupported, 0) AS unsupported,
    coalesce(cited.wrong_source, 0) AS wrong_source,
    coalesce(quoted.altered_quotes, 0) AS altered_quotes,
    coalesce(quoted.quotes_not_found, 0) AS quotes_not_found,
    coalesce(exposed.retracted_unacknowledged, 0) AS retracted_unacknowledged,
    coalesce(leaking.leaks, 0) AS leaks,
    r.created_at AS receipt_since
FROM current_receipts AS r
LEFT JOIN cited USING (document_key)
LEFT JOIN quoted USING (document_key)
LEFT JOIN exposed USING (document_key)
LEFT JOIN leaking USING (document_key)
WHERE r.state = 'failed'
ORDER BY
    dangling + unsupported + wrong_source + altered_quotes + quotes_not_found + retracted_unacknowledged + leaks DESC,
    r.corpus,
    r.document_id
