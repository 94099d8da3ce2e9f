"""The stages of a night, each as the function that runs it on one shard (or on the archive).

A stage module says which tables it reads and writes, what its fingerprint is made of, and calls the domain for one
document at a time. Judgement belongs to the domain modules; where rows lie belongs to `store`; which documents are
recomputed belongs to `shards`. The orchestrator's assets call these and nothing else.
"""
