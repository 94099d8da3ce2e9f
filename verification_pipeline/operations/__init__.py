"""What an operator does to a store besides running nights: look after it, prune it, change its shape.

Every part works on an opened `Store` and knows no stage: which rows a night makes is decided in `stages`. Printing and
options are the command's (`cli`).
"""
