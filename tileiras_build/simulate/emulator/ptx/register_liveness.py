"""Liveness analysis of registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .program import Program

_CHECKPOINT_DISTANCE = 64  # instructions between cached liveness masks within a block


class RegisterLiveness:
    """Bit masks of live registers: ``at(pc)`` before an instruction; ``behind``, by the first instruction of a block, at its end."""

    def __init__(self, program: Program):
        self.code, self.reads, self.writes = program.code, program.reads, program.writes
        self.block_end, self.leader_of = program.block_end, program.leader_of
        self.behind = dict.fromkeys(program.block_end, 0)
        self._known: dict[int, int] = {}
        self._solve(program)

    def at(self, pc: int) -> int:
        if pc in self._known:
            return self._known[pc]
        start = int(self.leader_of[pc])
        end = self.block_end[start]
        after = min((pc // _CHECKPOINT_DISTANCE + 1) * _CHECKPOINT_DISTANCE, end)
        if after < end and after not in self._known:
            self._checkpoints(start, end)
        live = self.behind[start] if after == end else self._known[after]
        live = self._known[pc] = self._before(live, pc, after)
        return live

    def _solve(self, program: Program):
        summary = {}
        for start, end in self.block_end.items():
            use = define = 0
            for pc in range(start, end):
                use |= self.reads[pc] & ~define
                if self.code[pc].predicate is None:
                    define |= self.writes[pc]
            summary[start] = (use, define, [s for s in program.successors(end - 1) if s < len(self.code)])
        live_in = dict.fromkeys(summary, 0)
        changed = True
        order = sorted(summary, reverse=True)
        while changed:
            changed = False
            for start in order:
                use, define, after = summary[start]
                out = 0
                for successor in after:
                    out |= live_in[successor]
                self.behind[start] = out
                new = use | (out & ~define)
                if new != live_in[start]:
                    live_in[start] = new
                    changed = True

    def _checkpoints(self, start: int, end: int):
        """Cache the masks at some positions of a block, so that queries need not scan a long block."""
        live, after = self.behind[start], end
        for at in range((end - 1) // _CHECKPOINT_DISTANCE * _CHECKPOINT_DISTANCE, start, -_CHECKPOINT_DISTANCE):
            live = self._known[at] = self._before(live, at, after)
            after = at

    def _before(self, live: int, pc: int, end: int) -> int:
        """The live registers before ``pc``, from ``live`` at ``end`` of the same block."""
        for at in range(end - 1, pc - 1, -1):
            if self.code[at].predicate is None:
                live &= ~self.writes[at]
            live |= self.reads[at]
        return live
