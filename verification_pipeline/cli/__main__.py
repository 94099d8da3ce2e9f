"""`python -m verification_pipeline.cli`."""

from verification_pipeline.cli import main

main()
