"""While rings of shared memory hold tiles, and which operations run meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Block, Operation

from ...ir.casting import given
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import ConsumerWaitOp
from ...ir.dialects.op_definition import TableOperation
from ...ir.dialects.op_traits import is_agents

WAIT = ConsumerWaitOp.name


@dataclass(frozen=True)
class RingLife:
    """While a ring holds tiles: from the first to the last operation of one block in which it is used."""

    block: Block
    first: Operation
    last: Operation

    @classmethod
    def of(cls, ring: TableOperation) -> RingLife:
        users = [use.operation for use in ring.result.uses] or [ring]
        block = next(block for block in _blocks_around(users[0]) if all(_lifted(op, block) for op in users))
        switch = given(_lifted(users[0], block))
        if is_agents(switch):
            return cls._beside_agent(switch.regions[-1].blocks[0], users)
        lifted = {_lifted(op, block) for op in users}
        ordered = [op for op in block.ops if op in lifted]
        return cls(block, ordered[0], ordered[-1])

    @classmethod
    def _beside_agent(cls, block: Block, users: list[Operation]) -> RingLife:
        """Another agent may fill the ring as soon as there are agents, until the last of its tiles is read here.

        Where a third one reads them, what is waited for here is done with them.
        """
        here = [op for op in users if _lifted(op, block)] or [op for op in walk(block) if op.name == WAIT]
        lifted = {_lifted(op, block) for op in here}
        return cls(block, given(block.first_op), [op for op in block.ops if op in lifted][-1])

    def covers(self, op: Operation) -> bool:
        place = _lifted(op, self.block)
        return (
            place is not None and not place.is_before_in_block(self.first) and not self.last.is_before_in_block(place)
        )


def _blocks_around(op: Operation) -> Iterator[Block]:
    """The blocks that an operation lies in, innermost first."""
    place: Operation | None = op
    while place is not None and (block := place.parent) is not None:
        yield block
        place = place.parent_op()


def _lifted(op: Operation, block: Block) -> Operation | None:
    """The operation of ``block`` that is or contains ``op``."""
    place: Operation | None = op
    while place is not None and place.parent is not block:
        place = place.parent_op()
    return place
