"""The night as a resource: opened once a run, with the store's lock and the worker processes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
from pydantic import Field, PrivateAttr

from verification_pipeline.night import Night, Options, open_night


class NightResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Where the store is and which corpora are verified; an already opened night may be handed in."""

    out: str = "out/nightly"
    corpora: list[str] = Field(default_factory=list)
    config_file: str = ""
    checker: str = ""
    workers: int = 0

    _night: Night | None = PrivateAttr(default=None)
    _given: Night | None = PrivateAttr(default=None)

    @classmethod
    def of(cls, night: Night) -> "NightResource":
        """A resource around a night that is already open."""
        resource = cls(out=str(night.store.root))
        resource._given = night
        return resource

    @classmethod
    def from_environment(cls) -> "NightResource":
        """Settings of `dagster dev` and the schedule: VERIFICATION_OUT, _CORPORA (`:`-separated), _CONFIG."""
        corpora = os.environ.get("VERIFICATION_CORPORA", "")
        return cls(
            out=os.environ.get("VERIFICATION_OUT", "out/nightly"),
            corpora=[part for part in corpora.split(os.pathsep) if part],
            config_file=os.environ.get("VERIFICATION_CONFIG", ""),
        )

    @property
    def night(self) -> Night:
        """The open night."""
        assert self._night is not None, "the night is open only while a run executes"
        return self._night

    @contextmanager
    def yield_for_execution(
        self,
        context: dg.InitResourceContext,  # noqa: ARG002
    ) -> Iterator["NightResource"]:
        """Open the night for the length of a run."""
        if self._given is not None:
            self._night = self._given
            yield self
            return
        options = Options(
            out=Path(self.out),
            corpora=tuple(map(Path, self.corpora)),
            config_file=Path(self.config_file) if self.config_file else None,
            overrides={"checker": {"kind": self.checker}} if self.checker else {},
            workers=self.workers or os.cpu_count() or 1,
        )
        with open_night(options) as night:
            self._night = night
            yield self
