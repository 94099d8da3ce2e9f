"""The Checker protocol and its kinds. A checker judges whether one source says what one claim says.

`protocol` is the contract; `none`, `replay`, `lexical` and `llm` are kinds; `retrieval` finds passages by
the word index; `grading` turns outcomes into verdict rows with severity and suggested fix, in one place for all kinds.
"""
