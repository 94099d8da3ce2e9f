"""What passes without a reader, and which numbers of uncited sentences no source holds."""

from verification_pipeline.triage.passing import TriageRow, triage
from verification_pipeline.triage.uncited import UncitedNumber, uncited_numbers

__all__ = ["TriageRow", "UncitedNumber", "triage", "uncited_numbers"]
