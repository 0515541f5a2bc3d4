"""Operands of tcgen05 instructions: tensor memory addresses, and the issuing warps and CTAs."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..errors import fault_at
from ..ptx.ast import Address
from ..simt.broadcasting import are_all, is_any
from ..simt.thread_selection import ctas_of, selected, tids_of
from .tcgen05_async_queue import Operation, pair_of

ROWS32 = np.arange(32)
LD_ST_SHAPES = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}  # registers per repetition


def tensor_address(e, operand) -> str:
    """Source of a tensor-memory address: lane in the high, column in the low 16 bits."""
    if not isinstance(operand, Address):
        e.fail("the tensor-memory address must be in brackets")
    base = e.use(operand.base, "u32")
    return f"{base} + {e.scalar('u32', operand.offset)}" if operand.offset else base


def is_pair(ins) -> bool:
    """Whether two CTAs execute an instruction together."""
    return "cta_group::2" in ins.mods


def require_one_group(e, ins):
    """Require the same .cta_group in all tcgen05 instructions of a kernel (section 9.7.16.7.1)."""
    if len(_cta_groups(e.program)) > 1:
        e.fail("all tcgen05 instructions of a kernel must have the same .cta_group")


@lru_cache(maxsize=16)
def _cta_groups(program) -> set[str]:
    return {m for ins in program.code if ins.op == "tcgen05" for m in ins.mods if m.startswith("cta_group")}


def mask_of(e) -> str:
    """Source of the threads that execute an instruction."""
    return e.predicate or "None"


def per_warp(group, ins, value) -> np.ndarray:
    """A warp-uniform value, one per warp."""
    if np.ndim(value) == 0:
        return np.full(group.warps, value)
    lanes = group.to_warps(value)
    if is_any(lanes != lanes[:, :1]):
        row = int(np.argmax((lanes != lanes[:, :1]).any(axis=1)))
        cta, tid = divmod(int(group.flat[row * 32]), group.geometry.threads)
        fault_at(group.geometry, ins, (cta, tid), "the threads of a warp have different operands")
    return lanes[:, 0]


def warps_of(group, ins) -> tuple[np.ndarray, np.ndarray]:
    """(CTA, warp in the CTA) of each warp of the group; all of its lanes must be present."""
    if not group.dense:
        cta, tid = divmod(int(group.flat[0]), group.geometry.threads)
        fault_at(group.geometry, ins, (cta, tid), "not all 32 threads of the warp execute this instruction")
    if (found := group.memo.get("warps")) is None:
        cta, tid = np.divmod(group.flat[::32], group.geometry.threads)
        found = group.memo["warps"] = cta, tid // 32
    return found


def issuers_of(group, selection) -> tuple[np.ndarray, np.ndarray, bool]:
    """(CTAs, threads) of a selection, and whether they are one thread of the same warp in each CTA."""
    ctas, tids = ctas_of(group, selection), tids_of(group, selection)
    warps = tids // 32
    return ctas, tids, are_all(ctas[1:] > ctas[:-1]) and are_all(warps == warps[:1])


class Issuers:
    """The threads that issue a single-thread instruction, with their operands."""

    def __init__(self, group, mask, *operands):
        selection = selected(group, mask)
        if mask is None:
            found = group.memo.get("issuers")
            self.ctas, self.tids, self.is_once = found or group.memo.setdefault("issuers", issuers_of(group, selection))
        else:
            self.ctas, self.tids, self.is_once = issuers_of(group, selection)
        self.are_integers = mask is None and all(isinstance(operand, np.generic) for operand in operands)
        self.operands = operands if self.are_integers else [np.asarray(selection.pick(operand)) for operand in operands]

    def batches(self):
        """(CTAs, their first thread, operands) of CTAs whose same warp issues with equal operands, each CTA at most once per batch."""
        if not len(self.ctas):
            return
        if self.are_integers and self.is_once:
            yield self.ctas, int(self.tids[0]), list(map(int, self.operands))
            return
        if self.is_uniform():
            yield self.ctas, int(self.tids[0]), [int(operand.flat[0]) for operand in self.operands]
            return
        rounds = self.issue_rank()
        operands = [np.broadcast_to(operand, len(self.ctas)).astype(np.uint64) for operand in self.operands]
        table = np.stack([*operands, (self.tids // 32).astype(np.uint64)])
        for turn in range(int(rounds.max()) + 1):
            chosen = np.flatnonzero(rounds == turn)
            while len(chosen):
                same = (table[:, chosen] == table[:, chosen[:1]]).all(axis=0)
                some = chosen[same]
                yield self.ctas[some], int(self.tids[some[0]]), [int(o[some[0]]) for o in operands]
                chosen = chosen[~same]

    def is_uniform(self) -> bool:
        """Whether the same warp of each CTA issues once, with equal operands."""
        return self.is_once and all(operand.size == 1 or are_all(operand == operand[0]) for operand in self.operands)

    def issue_rank(self) -> np.ndarray:
        """The number of earlier issuing threads in the CTA of each thread."""
        if len(self.ctas) < 2 or are_all(np.diff(self.ctas) > 0):
            return np.zeros(len(self.ctas), np.int64)
        out, seen = np.zeros(len(self.ctas), np.int64), {}
        for i, cta in enumerate(self.ctas.tolist()):
            out[i] = seen.get(cta, 0)
            seen[cta] = out[i] + 1
        return out


def operation_ctas(group, ins, ctas) -> list[np.ndarray]:
    """The CTAs of an operation: its own, or the even and the odd CTAs of the pairs."""
    return list(pair_of(group, ins, ctas)) if is_pair(ins) else [ctas]


def multicast_targets(group, ins, selection, index, flat, multicast):
    """The same barrier in every CTA of the cluster whose bit of ``multicast`` is set."""
    words = group.memories.shared_size // 8
    ctas = np.broadcast_to(selection.pick(group.cta), len(index))
    masks = np.broadcast_to(selection.pick(multicast), len(index))
    places, threads = [index[:0]], [flat[:0]]
    for rank in range(16):
        chosen = masks >> np.uint32(rank) & np.uint32(1) != 0
        if is_any(chosen):
            if rank >= group.geometry.cluster_size:
                fault_at(group.geometry, ins, (ctas[0], 0), f"CTA {rank} of the mask is not in the cluster")
            there = group.geometry.ctas_with_rank(ctas[chosen], rank)
            if group.observers.racecheck is not None:
                group.observers.racecheck.cluster.peer_accessed(ins, flat[chosen], there)
            places.append(there * words + index[chosen] % words)
            threads.append(flat[chosen])
    return np.concatenate(places), np.concatenate(threads)


def require_usable(memory, operation: Operation) -> None:
    """Require that the columns of an asynchronous operation are allocated, with no tcgen05.ld or .st in flight."""
    ins = operation.ins
    for span in operation.writes + operation.reads:
        memory.require_allocated(ins, span, None, f"tcgen05.{ins.mods[0]}")
        why = "a tcgen05.st to these columns has not been waited for (tcgen05.wait::st)"
        memory.require_no_pending(ins, span, None, memory.storing, why)
    for span in operation.writes:
        why = "a tcgen05.ld of these columns has not been waited for (tcgen05.wait::ld)"
        memory.require_no_pending(ins, span, None, memory.loading, why)
