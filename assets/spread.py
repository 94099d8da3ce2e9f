"""Stages whose work lies by document shard, as steps that an executor may run side by side, on several machines.

    share_out_… ──▶ a step for each group of shards ──▶ gather_…

The tag `groups` of a run says how many groups there are; without it there is one, and the run is one process. Which
shards a step has stands in its mapping key, and nothing else is handed from step to step: what a stage makes lies in
the store, so that steps need no storage in common but it. What the groups did is added up from the events of the run.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import dagster as dg
from dagster._core.storage.tags import ASSET_RESUME_RETRY_TAG, RESUME_RETRY_TAG

from verification_pipeline.errors import UsageError
from verification_pipeline.night import Night
from verification_pipeline.shards import ShardReport

GROUPS = "groups"
_OF = "_of_"
_FIGURES = ("recomputed", "kept", "removed")

Work = Callable[[Night, Sequence[int]], ShardReport]
"""A stage on some shards of the night's store."""
Told = Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]


def groups_of(tags: Mapping[str, str]) -> int | None:
    """How many groups of shards the tags of a run ask for; None: the run is one process. UsageError."""
    value = tags.get(GROUPS)
    if value is None:
        return None
    if not (value.isascii() and value.isdecimal() and int(value)):
        raise UsageError(f"the run's tag {GROUPS} is {value!r}: use a number from 1")
    return int(value)


def lineage(instance: dg.DagsterInstance, run: dg.DagsterRun) -> list[dg.DagsterRun]:
    """A run and the failed ones that it goes on from, the first of them last.

    A run that begins at the beginning goes on from none, also when it was started as another one's retry.
    """
    found = [run]
    while any(found[-1].tags.get(tag) == "true" for tag in (RESUME_RETRY_TAG, ASSET_RESUME_RETRY_TAG)):
        parent = instance.get_run_by_id(str(found[-1].parent_run_id))
        if parent is None:
            break
        found.append(parent)
    return found


def by_shards(
    name: str,
    step: str,
    *,
    specs: Sequence[dg.AssetSpec],
    check_specs: Sequence[dg.AssetCheckSpec],
    work: Work,
    told: Callable[[Night, ShardReport], Told],
    undivided: Callable[[Night], bool] = lambda _: False,
) -> dg.AssetsDefinition:
    """The assets of one stage. `step` names the steps that have a group each.

    `told` gives the results once every shard is done, with the checks over the whole; where `undivided`, all shards
    are one group whatever the run asks for.
    """
    outputs = {spec.key.to_python_identifier(): spec.key for spec in specs}
    checks = {check.get_python_identifier(): check for check in check_specs}
    needed = {dep.asset_key for spec in specs for dep in spec.deps} - set(outputs.values())
    inputs = {key.to_python_identifier(): key for key in sorted(needed)}

    @dg.op(name=f"share_out_{name}", ins={given: dg.In(dg.Nothing) for given in inputs}, out=dg.DynamicOut(dg.Nothing))
    def share_out(context: dg.OpExecutionContext, night: dg.ResourceParam[Night]) -> Iterator[dg.DynamicOutput[None]]:
        asked = 1 if undivided(night) else groups_of(context.run.tags) or 1
        groups = min(asked, night.store.shards)
        for number in range(1, groups + 1):
            yield dg.DynamicOutput(None, mapping_key=f"{number}{_OF}{groups}")

    @dg.op(name=step, ins={"group": dg.In(dg.Nothing)}, out=dg.Out(dg.Nothing))
    def on_a_group(context: dg.OpExecutionContext, night: dg.ResourceParam[Night]) -> Iterator[dg.Output[None]]:
        number, groups = map(int, str(context.get_mapping_key()).split(_OF))
        shards = range(number - 1, night.store.shards, groups)
        report = work(night, shards)
        figures = {figure: getattr(report, figure) for figure in _FIGURES}
        yield dg.Output(None, metadata={**figures, "shards": len(shards)})

    @dg.op(
        name=f"gather_{name}",
        ins={"groups": dg.In(dg.Nothing)},
        out={one: dg.Out(dg.Nothing) for one in (*outputs, *checks)},
    )
    def gather(context: dg.OpExecutionContext, night: dg.ResourceParam[Night]) -> Told:
        yield from told(night, _added_up(context, f"{name}.{step}["))

    @dg.graph(
        name=name,
        ins={given: dg.GraphIn() for given in inputs},
        out={one: dg.GraphOut() for one in (*outputs, *checks)},
    )
    def stage(**given: Any) -> Any:
        groups = share_out(**given).map(lambda group: on_a_group(group=group))
        return gather(groups=groups.collect())._asdict()

    return dg.AssetsDefinition(
        node_def=stage,
        keys_by_input_name=inputs,
        keys_by_output_name=outputs,
        specs=specs,
        check_specs_by_output_name=checks,
    )


def _added_up(context: dg.OpExecutionContext, steps: str) -> ShardReport:
    """What the steps whose keys begin so reported; those that a failed run had done already, there."""
    found: dict[str, Mapping[str, dg.MetadataValue]] = {}
    for run in reversed(lineage(context.instance, context.run)):
        for entry in context.instance.all_logs(run.run_id, of_type=dg.DagsterEventType.STEP_OUTPUT):
            event = entry.get_dagster_event()
            if str(event.step_key).startswith(steps):
                found[str(event.step_key)] = event.step_output_data.metadata
    recomputed, kept, removed = (
        sum(int(str(metadata[figure].value)) for metadata in found.values()) for figure in _FIGURES
    )
    return ShardReport(recomputed, kept, removed)
