-- says: Sources whose graded citations fail most: unsupported or wrong-source, worst share first, then most failures.
-- grain: source with at least one failed pair
-- key: source_key
-- asks: the analyst
SELECT
    corpus,
    source_key,
    source_id,
    document_id,
    title,
    url,
    pairs,
    auto_passed + checked AS settled,
    unsupported + wrong_source AS failed,
    (unsupported + wrong_source) / (auto_passed + checked) AS failed_share,
    not_checked
FROM verdicts_by_source
WHERE unsupported + wrong_source > 0
ORDER BY failed_share DESC, failed DESC, corpus, source_key
