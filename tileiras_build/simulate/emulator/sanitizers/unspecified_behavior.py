"""Findings: what kernels that are right on hardware do although the ISA leaves it open, each with a name.

A compiler whose code does so relies on what ptxas adds or on what a GPU happens to do. In code of ours that is a fault; in
PTX of others a warning, for its authors have seen it run. Either can be told otherwise, for all findings or by name.
What the ISA forbids in so many words is no finding: that is always a fault.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from ..errors import EmulatorFault, EmulatorWarning

# Name -> what the kernel does, and what the ISA says (sections of PTX ISA 9.0).
FINDINGS = {
    "arrival-relaxed": "shared memory that threads access one after the other, over a relaxed arrival or wait (`barrier.cluster.arrive.relaxed`) "
    "with no fence that releases, or acquires, what it says nothing of (9.7.13.4)",
    "copy-not-ordered": "a `tcgen05.cp` overwrites columns that a product or a copy before it may still use; hardware carries them out in "
    "turn, the ISA says so of copies before products only (9.7.16.6.2)",
    "exit-before-arrival": "a CTA ends before the last arrivals of `tcgen05.commit` at its mbarriers, on which nobody waits any "
    "more; that a later commit has arrived says nothing of an earlier one (9.7.16.6.2)",
    "exit-before-read": "a thread exits while its bulk copy may still read shared memory, without a wait_group; how long "
    "shared memory outlives its CTA is not said (9.7.9.25)",
    "load-not-waited": "tensor memory that a `tcgen05.ld` reads is written or given back before its `tcgen05.wait::ld`; "
    "ptxas waits for the registers, if it can see them used (9.7.16.8)",
    "peer-cta-not-running": "shared memory of another CTA of the cluster that is used with nothing to say that this has begun, or that it "
    "does not end before; so does tensor memory that a pair allocates (CUDA Programming Guide, distributed shared memory; 9.7.16.5.1)",
    "wgmma-not-fenced": "registers of a `wgmma` are written or read between the last `wgmma.fence` and the product; "
    "right where ptxas makes copies of registers disappear (9.7.15.7)",
    "registers-differ": "the warps of a warpgroup change to different register counts with `setmaxnreg`, or not in turn; "
    "the change is a hint (9.7.19.5)",
    "tensor-not-fenced": "tensor memory that other threads use, over a synchronisation with no `tcgen05.fence` on one of its "
    "sides; ptxas moves none of these instructions over a wait (9.7.16.6.4)",
}
FAULT, WARNING, SILENT = ACTIONS = ("fault", "warning", "silent")


class Findings:
    """How one launch treats what is found. ``choice``: a way for all, or {name: way} for some; None: ``default``.

    Raises ValueError for a name or a way that does not exist.
    """

    __slots__ = ("actions", "warned")

    def __init__(self, choice: str | Mapping[str, str] | None = None, default: str = FAULT):
        chosen = dict.fromkeys(FINDINGS, choice) if isinstance(choice, str) else dict(choice or {})
        if unknown := set(chosen) - set(FINDINGS):
            raise ValueError(f"there is no finding {sorted(unknown)[0]!r}: use {', '.join(FINDINGS)}")
        if wrong := [way for way in chosen.values() if way not in ACTIONS]:
            raise ValueError(f"a finding cannot be treated as {wrong[0]!r}: use {', '.join(ACTIONS)}")
        self.actions = dict.fromkeys(FINDINGS, default) | chosen
        self.warned: dict[tuple, str] = {}  # (name, line) -> what was warned of

    def report(self, name: str, fault: EmulatorFault) -> None:
        """Raise ``fault``, or warn once for each instruction, or do nothing."""
        way = self.actions[name]
        if way == FAULT:
            raise EmulatorFault(
                f"{fault.message} (finding {name})", instruction=fault.instruction, line=fault.line,
                thread=fault.thread, address=fault.address, kind=fault.kind, size=fault.size, writes=fault.writes,
            )  # fmt: skip
        if way == WARNING:
            self.warn((name, fault.line), f"{fault} (finding {name})")

    def warn(self, key: tuple, text: str) -> None:
        """Warn once of each ``key``: (name, line)."""
        if key in self.warned:
            return
        self.warned[key] = text
        warnings.warn(text, EmulatorWarning, stacklevel=3)

    def warnings_as_faults(self) -> Findings:
        """As these, but what is warned of is a fault."""
        return Findings({name: FAULT if way == WARNING else way for name, way in self.actions.items()})
