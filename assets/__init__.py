"""The orchestrator's view of the pipeline: assets, checks, jobs, schedules. Dagster lives here and nowhere else.

An asset resolves nothing and judges nothing: it calls one stage of `verification_pipeline.stages` on the night's
store and reports rows, schema and the figures a person wants to see.
"""
