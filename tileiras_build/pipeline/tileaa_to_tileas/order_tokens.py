"""Insert barriers where a token orders accesses that different threads may make to the same bytes.

In:    nv_tileas memory operations joined by tokens.
Out:   the same with nv_tileas.barrier before each access that must see, or must not disturb, an earlier access of
       another thread.
After: convert_tileaa_to_tileas. Before: scratch is assigned (a barrier ends all reading of it).
Sound: within a thread text order is program order; across the threads of the tile program a token edge from a write
       to any access, or from a read to a write, needs a barrier between the two. Each access is taken as touching any
       byte, and a token carried by a loop as coming from every access in it.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.nv_tileas.ops import BarrierOp
from ..contracts import EdgePass
from ..job import Job

TOKEN = "nv_tileaa.mem_token"
READ, WRITE = 1, 2
ACCESSES = {
    "nv_tileas.load": READ,
    "nv_tileas.tiled_load": READ,
    "nv_tileas.store": WRITE,
    "nv_tileas.tiled_store": WRITE,
    "nv_tileas.atomic_rmw": READ | WRITE,
    "nv_tileas.atomic_cas": READ | WRITE,
    "nv_tileas.tiled_atomic_rmw": READ | WRITE,
}


class OrderTokens(EdgePass):
    """Barriers from tokens."""

    name = "tileas-order-tokens"

    def run(self, module: ModuleOp, job: Job) -> None:
        for func in module.body.block.ops:
            if func.name == "nv_tileaa.func":
                _Orderer().block(func.regions[0].blocks[0])


class _Orderer:
    """``behind[token]``: what the accesses that a token follows did since the last barrier (READ, WRITE)."""

    def __init__(self):
        self.behind: dict[SSAValue, int] = {}

    def block(self, block: Block) -> None:
        for op in list(block.ops):
            self.operation(op)

    def operation(self, op: Operation) -> None:
        if op.name in ACCESSES:
            self._access(op)
        elif op.name in ("nv_tileas.for", "nv_tileas.loop"):
            self._loop(op)
        elif op.name == "nv_tileas.if":
            self._if(op)
        elif op.name == "nv_tileas.fence_alias":
            self._barrier_before(op)
            self.behind[op.results[0]] = 0
        else:
            for result in op.results:
                if result.type.name == TOKEN:
                    self.behind[result] = self._together(op)

    def _together(self, op: Operation) -> int:
        mask = 0
        for operand in op.operands:
            mask |= self.behind.get(operand, 0)
        return mask

    def _access(self, op: Operation) -> None:
        kind, before = ACCESSES[op.name], self._together(op)
        semantic = op.attributes.get("mem_semantic")
        ordered = semantic is not None and semantic.data in ("acquire", "release", "acq_rel")
        conflict = before & WRITE or (before and kind & WRITE)
        releases = ordered and semantic.data in ("release", "acq_rel") and before
        if conflict or releases:
            self._barrier_before(op)
            before = 0
        for result in op.results:
            if result.type.name == TOKEN:
                self.behind[result] = before | kind
        if ordered and semantic.data in ("acquire", "acq_rel"):
            # What other threads do next must come after what this one acquired.
            op.parent.insert_op_after(BarrierOp.make([], []), op)
            self._cleared()

    def _barrier_before(self, op: Operation) -> None:
        op.parent.insert_op_before(BarrierOp.make([], []), op)
        self._cleared()

    def _cleared(self) -> None:
        for token in self.behind:
            self.behind[token] = 0

    def _loop(self, op: Operation) -> None:
        block = op.regions[0].blocks[0]
        inside = 0
        for inner in block.walk():
            inside |= ACCESSES.get(inner.name, 0)
        entering, before = self._together(op), dict(self.behind)
        for argument in block.args:
            if argument.type.name == TOKEN:
                self.behind[argument] = entering | inside
        self.block(block)
        for result in op.results:
            if result.type.name == TOKEN:
                self.behind[result] = entering | inside
        # The body may not have run, nor a barrier in it: what was open before is open after.
        for token, mask in before.items():
            self.behind[token] |= mask

    def _if(self, op: Operation) -> None:
        before = dict(self.behind)
        after: dict[SSAValue, int] = {}
        inside = 0
        for region in op.regions:
            self.behind = dict(before)
            self.block(region.blocks[0])
            last = region.blocks[0].last_op
            inside |= self._together(last) if last is not None else 0
            for token, mask in self.behind.items():
                after[token] = after.get(token, 0) | mask
        self.behind = after
        for result in op.results:
            if result.type.name == TOKEN:
                self.behind[result] = inside
