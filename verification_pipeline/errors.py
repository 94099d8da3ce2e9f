"""The exceptions this package raises on purpose. What a bad *document* causes is a row of `problems`, not one of these.

PipelineError            anything below; the command prints its message as one line
├── UsageError           bad option, configuration or input path        (exit status 2)
├── StoreError           a store that cannot be read or does not match  (exit status 2)
│   ├── NoStore          there is none yet
│   └── ContractError    a table that breaks its registered schema or a sum that must hold
├── StoreBusy            another run holds the store                    (exit status 3)
├── RunOvertaken         another run held the store since this one began (exit status 2)
├── WorkerLost           a worker process was killed                    (exit status 3)
└── CheckerError         a checker that cannot work at all (no key, no server)
"""


class PipelineError(Exception):
    """Base class: a fault with a message for a person, naming what, where and what to do."""


class UsageError(PipelineError):
    """A bad option, configuration value or input path."""


class StoreError(PipelineError):
    """The store is missing, of another shape, or damaged."""


class NoStore(StoreError):
    """There is no store yet where one was named."""


class ContractError(StoreError):
    """A table breaks its registered schema, or a sum that must hold does not."""


class StoreBusy(PipelineError):
    """Another run holds the store's lock."""


class RunOvertaken(PipelineError):
    """A run of several processes cannot go on: another run worked on the store in between."""


class WorkerLost(PipelineError):
    """A worker process was killed while it worked; the run can be continued."""


class CheckerError(PipelineError):
    """A checker cannot work at all, whatever the pair: no key, no server, no recorded answers."""
