"""Findings: behavior that the PTX ISA leaves unspecified, although it works on hardware. Each finding has a name.

Such code relies on what ptxas inserts or on what current GPUs do. A finding is a fault in PTX that this compiler generated,
and a warning in other PTX, whose authors have run it. Options change this for all findings or by name. Behavior that the ISA
forbids explicitly is always a fault, never a finding.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from ..errors import EmulatorFault, EmulatorWarning

# Name -> what the kernel does, and what the ISA specifies (sections of PTX ISA 9.0).
FINDINGS = {
    "arrival-relaxed": "accesses of shared memory by two threads are ordered only by a relaxed arrival or wait (`barrier.cluster.arrive.relaxed`) "
    "without a release or acquire fence; a relaxed arrival does not order memory accesses (9.7.13.4)",
    "copy-not-ordered": "a `tcgen05.cp` overwrites columns that an earlier MMA or copy may still use; hardware executes them in "
    "order, but the ISA guarantees this only for copies before MMAs (9.7.16.6.2)",
    "exit-before-arrival": "a CTA exits before the last arrivals of `tcgen05.commit` at its mbarriers, without waiting for "
    "them; the arrival of a later commit does not imply that of an earlier one (9.7.16.6.2)",
    "exit-before-read": "a thread exits without a wait_group while its bulk copy may still read shared memory; the ISA does not "
    "specify how long shared memory outlives its CTA (9.7.9.25)",
    "load-not-waited": "tensor memory is written or deallocated after a `tcgen05.ld` of it and before its `tcgen05.wait::ld`; "
    "ptxas waits for the registers if it sees a use of them (9.7.16.8)",
    "peer-cta-not-running": "shared memory of another CTA of the cluster is accessed without synchronization that guarantees that this CTA "
    "has started and has not exited; the same for tensor memory that a CTA pair allocates (CUDA Programming Guide, distributed shared memory; 9.7.16.5.1)",
    "wgmma-not-fenced": "registers of a `wgmma` are written or read between the last `wgmma.fence` and the `wgmma`; "
    "this works if ptxas eliminates register copies (9.7.15.7)",
    "registers-differ": "the warps of a warpgroup change to different register counts with `setmaxnreg`, or in different orders; "
    "the change is a hint (9.7.19.5)",
    "tensor-not-fenced": "accesses of tensor memory by two threads are synchronized without a `tcgen05.fence` on both "
    "sides; ptxas moves none of these instructions across a wait (9.7.16.6.4)",
}
FAULT, WARNING, SILENT = ACTIONS = ("fault", "warning", "silent")


class Findings:
    """The action of one launch for each finding. ``choice``: an action for all, or {name: action}; otherwise ``default``.

    Raises ValueError for an unknown name or action.
    """

    __slots__ = ("actions", "warned")

    def __init__(self, choice: str | Mapping[str, str] | None = None, default: str = FAULT):
        chosen = dict.fromkeys(FINDINGS, choice) if isinstance(choice, str) else dict(choice or {})
        if unknown := set(chosen) - set(FINDINGS):
            raise ValueError(f"unknown finding {sorted(unknown)[0]!r}: use {', '.join(FINDINGS)}")
        if wrong := [action for action in chosen.values() if action not in ACTIONS]:
            raise ValueError(f"unknown action {wrong[0]!r} of a finding: use {', '.join(ACTIONS)}")
        self.actions = dict.fromkeys(FINDINGS, default) | chosen
        self.warned: dict[tuple, str] = {}  # (name, line) -> the warning

    def report(self, name: str | None, fault: EmulatorFault) -> None:
        """Raise ``fault``, or warn once for each instruction, or do nothing. Without a name, it is raised as it is."""
        if name is None:
            raise fault
        action = self.actions[name]
        if action == FAULT:
            raise EmulatorFault(
                f"{fault.message} (finding {name})", instruction=fault.instruction, line=fault.line,
                thread=fault.thread, address=fault.address, kind=fault.kind, size=fault.size, writes=fault.writes,
            )  # fmt: skip
        if action == WARNING:
            self.warn((name, fault.line), f"{fault} (finding {name})")

    def warn(self, key: tuple, text: str) -> None:
        """Warn once of each ``key``: (name, line)."""
        if key in self.warned:
            return
        self.warned[key] = text
        warnings.warn(text, EmulatorWarning, stacklevel=3)

    def warnings_as_faults(self) -> Findings:
        """A copy of these findings that raises faults instead of warnings."""
        return Findings({name: FAULT if action == WARNING else action for name, action in self.actions.items()})
