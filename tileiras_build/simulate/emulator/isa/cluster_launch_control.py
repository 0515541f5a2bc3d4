"""clusterlaunchcontrol: running clusters cancel clusters that have not started, and take over their work (PTX ISA 9.0, 9.7.13.17).

Such a kernel runs in two parts: the clusters of the first half start at once, the others later, one by one, unless they were
canceled (``launch.py``). A request is decided at its issue; its response arrives like a bulk copy. The emulator's layout of
the opaque 16 bytes: ctaid.x, .y, .z of the cluster's first CTA, and a word that says whether the request succeeded.
"""

from __future__ import annotations

import numpy as np

from ..codegen.emit_block import vector_items
from ..memory.load_store import Site
from ..ptx.ast import SINK
from ..simt.geometry import Geometry
from ..simt.thread_selection import Selection, flat_threads
from .bulk_copies_1d import LineCopy
from .bulk_copy_issue import BulkSite
from .cp_async_bulk import shared_operand
from .handler_registry import handles, helper

BYTES = 16
RESPONSE_CANCELED, RESPONSE_NOT_CANCELED = (
    0x434E434C,
    0x46524C43,
)  # values of the last word of a response
CTAID_WORDS = {"get_first_ctaid::x": 0, "get_first_ctaid::y": 1, "get_first_ctaid::z": 2}


class Response(LineCopy):
    """Responses in flight to shared memory."""

    responses = None  # 16 bytes per response

    def sources(self, batch) -> list:
        return list(self.responses)


class CancelSite(BulkSite):
    """The operands of one try_cancel."""

    def request(self, group, to, mbar, mask, everywhere: bool):
        selection = Selection(group, True if mask is None else mask)
        if not len(selection.rows):
            return
        flat = flat_threads(group, selection)
        offset, bias = self.in_shared(self.shared_to, group, to, selection)
        positions = self.barriers(group, mbar, selection)
        every = np.uint16((1 << group.geometry.cluster_size) - 1) if everywhere else None
        some, bias, positions = self.targets(group, selection, flat, bias, positions, every)
        copy = Response(
            self.ins, flat[some], ("shared", offset[some] + bias), None, np.full(len(some), BYTES), positions
        )
        responses = [response(group.options.remaining, group.geometry) for _ in flat]
        copy.responses = np.array(responses, np.uint32).view(np.uint8)[some]
        copy.record_issue(group)
        copy.mark_in_flight(group)
        group.sync.waits.add_in_flight(positions, copy)


def response(remaining, geometry: Geometry) -> tuple[int, int, int, int]:
    """The words of one response: cancels the last cluster that has not started, if any."""
    first = remaining.cancel()
    if first is None:
        return 0, 0, 0, RESPONSE_NOT_CANCELED
    x, y, z = (int(n) for n in geometry.cta_coordinates(first - geometry.first))
    return x, y, z, RESPONSE_CANCELED


def words_of(response) -> list:
    """The four words of two 64-bit halves."""
    return [(half >> np.uint64(32 * i)).astype(np.uint32) for half in response for i in (0, 1)]


def require(group, ins, mask, right, why: str) -> None:
    """Raise a fault for the first active thread for which ``right`` is false."""
    wrong = np.broadcast_to(True if mask is None else mask, group.shape) & ~np.broadcast_to(right, group.shape)
    if wrong.any():
        Site(ins, "shared", BYTES).fault(group, why, tuple(int(i) for i in np.argwhere(wrong)[0]))


@helper
def was_cancelled(group, ins, mask, low, high):
    word = words_of((low, high))[3]
    known = (word == RESPONSE_CANCELED) | (word == RESPONSE_NOT_CANCELED)
    require(group, ins, mask, known, "these 16 bytes are not a response of clusterlaunchcontrol.try_cancel")
    return word == RESPONSE_CANCELED


@helper
def first_cta(group, ins, mask, low, high):
    *place, word = words_of((low, high))
    require(group, ins, mask, word == RESPONSE_CANCELED, "get_first_ctaid of a request that did not cancel a cluster")
    return place


@handles("clusterlaunchcontrol")
def handle_clusterlaunchcontrol(e, ins):
    if ins.mods[0] == "try_cancel":
        return emit_request(e, ins)
    if ins.mods[0] != "query_cancel":
        e.fail("not supported")
    pair = e.temp(e.use(ins.args[1], "b128"))
    call = f"(g, {e.constant(ins, 'ins')}, {e.predicate or 'None'}, {pair}[0], {pair}[1])"
    if ins.mods[1] == "is_canceled":
        return e.set(ins.args[0], "p", f"was_cancelled{call}")
    place = e.temp(f"first_cta{call}")
    if ins.mods[1] == "get_first_ctaid":
        for i, target in enumerate(vector_items(ins.args[0])[:3]):
            if target is not SINK:
                e.set(target, "u32", f"{place}[{i}]")
        return None
    if ins.mods[1] not in CTAID_WORDS:
        e.fail("not supported")
    return e.set(ins.args[0], "u32", f"{place}[{CTAID_WORDS[ins.mods[1]]}]")


def emit_request(e, ins):
    to, offset = shared_operand(e, ins.args[0])
    bar, bar_offset = shared_operand(e, ins.args[1])
    site = e.constant(CancelSite(ins, offset, 0, bar_offset, BYTES), "cancel")
    everywhere = "multicast::cluster::all" in ins.mods
    e.line(f"{site}.request(g, {to}, {bar}, {e.predicate or 'None'}, {everywhere})")
