"""The operations of ``cutlass``: pipelines and named barriers, one row each (tileir-internals, section 4.9).

The other operations of the roster accept any operands: the dialect parses them, and the conversion reports them.
"""

from __future__ import annotations

from ..op_definition import TableOp, define


def _row(name: str, operands: str, results: str, meaning: str, *, pure: bool = False) -> type[TableOp]:
    return define(f"cutlass.{name}", operands, results, meaning, pure=pure, attributes=None)


PIPELINES = (
    _row("pipeline.create", "storage", "pipeline", "a pipeline whose barriers are at an address in shared memory"),
    _row("pipeline.init", "pipeline", "", "barriers for num_producers and num_consumers arrivals"),
    _row("pipeline.producer_acquire", "pipeline state", "", "wait until the stage is empty"),
    _row("pipeline.producer_try_acquire", "pipeline state", "done", "whether the stage is empty"),
    _row("pipeline.producer_commit", "pipeline state", "", "mark the stage full, after tx_count bytes have arrived"),
    _row("pipeline.producer_tail", "pipeline state", "", "wait until all stages are empty"),
    _row("pipeline.consumer_wait", "pipeline state", "", "wait until the stage is full"),
    _row("pipeline.consumer_try_wait", "pipeline state", "done", "whether the stage is full"),
    _row("pipeline.consumer_release", "pipeline state", "", "mark the stage empty"),
    _row("pipeline.get_producer_barrier", "pipeline state", "barrier", "the full barrier of the stage"),
    _row("pipeline.state.create", "", "state", "the first state, of a producer or a consumer by the attribute role"),
    _row("pipeline.state.increment", "state", "result", "the state of the next stage", pure=True),
    _row("pipeline.state.get_index", "state", "index", "the stage", pure=True),
    _row("pipeline.state.get_phase", "state", "phase", "the phase", pure=True),
    _row("pipeline.state.get_count", "state", "count", "the number of completed stages", pure=True),
)
BARRIERS = (
    _row("named_barrier.arrive", "", "", "arrive at barrier id of threads threads"),
    _row("named_barrier.arrive_and_wait", "", "", "arrive at barrier id and wait for threads threads"),
)
OTHERS = tuple(
    define(f"cutlass.{name}", "inputs*", "outputs*", f"{name} of the roster, in any form", pure=False, attributes=None)
    for name in (
        "pipeline.make_participants", "pipeline.produce", "pipeline.consume", "pipeline.get_producer_mask",
        "pipeline.switch_by_executor", "seq_bar.create", "seq_bar.init", "seq_bar.arrive", "seq_bar.wait",
        "seq_bar.state.create", "block_striped.load", "block_striped.load_add", "block_striped.store",
        "block_striped.reduce", "generic_barrier.arrive_increment", "generic_barrier.wait_eq",
        "generic_barrier.wait_less_than", "generic_barrier_sync", "barrier_id", "async.exec",
    )
)  # fmt: skip
OPERATIONS = (*PIPELINES, *BARRIERS, *OTHERS)
BY_NAME: dict[str, type[TableOp]] = {op.name: op for op in OPERATIONS}
