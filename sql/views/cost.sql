-- says: What a model's reading cost, night by night, and for how much; a model without a configured price counts as 0.
-- grain: (run, corpus)
-- key: run_id, corpus
-- asks: the operator: what do we pay, and what for?
-- columns:
--   night: Night of the run (UTC).
--   run_id: as in costs
--   corpus: Corpus; null for documents that are gone.
--   documents: Documents that a model read.
--   llm_pairs: Pairs that were put before it.
--   cents: What was paid.
--   cents_a_pair: cents / llm_pairs.
--   dearest_document_cents: What the dearest document cost.
SELECT
    r.night,
    c.run_id,
    d.corpus,
    count(*) AS documents,
    sum(c.llm_pairs)::BIGINT AS llm_pairs,
    sum(c.cents) AS cents,
    sum(c.cents) / nullif(sum(c.llm_pairs), 0) AS cents_a_pair,
    max(c.cents) AS dearest_document_cents
FROM costs AS c
JOIN runs AS r USING (run_id)
LEFT JOIN documents AS d USING (document_key)
GROUP BY r.night, c.run_id, d.corpus
ORDER BY r.night DESC, c.run_id, d.corpus NULLS LAST
