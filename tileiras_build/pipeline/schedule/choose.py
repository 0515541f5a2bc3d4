"""Choose the value of a knob: the first legal candidate, or the requested one if it is legal.

Candidates come in the order of preference. Where somebody listens (``listening``), each choice is heard with all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from ...core.errors import InternalError
from ...ir.casting import unwrap
from ..job import Job
from .cost import Cost
from .kernel import Kernel
from .schedule import BY_NAME, Schedule, Value
from .schedule_attribute import set_knobs
from .schedule_file import refusal, requested

V = TypeVar("V", bound=Value)
MIN_GAIN = 0.03  # of the cost; below, the model says nothing
DECIDES = ("num_ctas", "grid_cluster", "num_warps")  # the knobs that make most whole schedules


class Resource(StrEnum):
    """What an SM has, as it is printed."""

    REGISTERS = "registers"
    THREADS = "threads"
    SHARED = "shared memory"
    TENSOR = "tensor memory"


class Limit(NamedTuple):
    """The resource that an SM lacks for a candidate, and how much of it."""

    resource: Resource
    text: str

    def __str__(self) -> str:
        return f"{self.resource}: {self.text}"


@dataclass(frozen=True)
class WholeSchedule:
    """A candidate for all knobs together: ``refused`` is what binds it, None where it is legal; ``remedy`` what would allow it.

    ``decides``: the knobs whose values make it; the others follow.
    """

    schedule: Schedule
    refused: str | Limit | None = None
    remedy: str | None = None
    cost: Cost | None = None
    decides: tuple[str, ...] = DECIDES

    @property
    def nanoseconds(self) -> float:
        """What candidates that have a cost are compared by."""
        return unwrap(self.cost).nanoseconds_with_tail

    @property
    def decided(self) -> dict[str, Value]:
        """The values that make it."""
        return {name: getattr(self.schedule, name) or 1 for name in self.decides}

    def is_of(self, made: Schedule) -> bool:
        """Whether a finished schedule is what it makes."""
        return all((getattr(made, name) or 1) == value for name, value in self.decided.items())


@dataclass(frozen=True)
class Candidate(Generic[V]):
    """A value; ``refused`` is what binds it, None where it is legal; ``remedy`` what would allow it."""

    value: V
    refused: str | Limit | None = None
    remedy: str | None = None

    @property
    def resource(self) -> Resource | None:
        """The resource of an SM that binds it; None where something else does, or nothing."""
        return self.refused.resource if isinstance(self.refused, Limit) else None


@dataclass(frozen=True)
class Choice:
    """What was chosen for a knob of a kernel, and what else was considered; ``place``: for which dot or loop."""

    kernel: str
    knob: str
    value: Value | None
    candidates: tuple[Candidate[Any], ...]
    place: int | None = None


@dataclass
class Heard:
    """The choices, what each kernel is, and its whole schedules, by name."""

    choices: list[Choice] = field(default_factory=list)
    kernels: dict[str, Kernel] = field(default_factory=dict)
    schedules: dict[str, list[WholeSchedule]] = field(default_factory=dict)


def cheapest(found: Iterable[WholeSchedule]) -> WholeSchedule | None:
    """The cheapest legal candidate; the first one where others are cheaper by too little, or nothing has a cost."""
    legal = [one for one in found if one.refused is None]
    if not legal or legal[0].cost is None:
        return legal[0] if legal else None
    least = min(legal, key=lambda one: one.nanoseconds)
    return least if least.nanoseconds < (1 - MIN_GAIN) * legal[0].nanoseconds else legal[0]


_heard: ContextVar[Heard | None] = ContextVar("heard", default=None)


@contextmanager
def listening() -> Iterator[Heard]:
    """The choices inside of the block."""
    heard = Heard()
    token = _heard.set(heard)
    try:
        yield heard
    finally:
        _heard.reset(token)


def is_listening() -> bool:
    """Whether candidates that are not chosen matter."""
    return _heard.get() is not None


def hear(
    func: Operation, knob: str, value: Value | None, candidates: Iterable[Candidate[Any]], place: int | None = None
) -> None:
    """Tell the listener of a choice."""
    if (heard := _heard.get()) is not None:
        heard.choices.append(Choice(_name_of(func), knob, value, tuple(candidates), place))


def hear_kernel(func: Operation, kernel: Kernel) -> None:
    """Tell the listener what a kernel is."""
    if (heard := _heard.get()) is not None:
        heard.kernels[_name_of(func)] = kernel


def hear_schedules(func: Operation, found: list[WholeSchedule]) -> None:
    """Tell the listener of whole schedules. Those of other clusters, which were weighed before a cluster was chosen, stay."""
    if (heard := _heard.get()) is not None:
        before, clusters = heard.schedules.get(_name_of(func), []), {_cluster_of(one) for one in found}
        heard.schedules[_name_of(func)] = found + [one for one in before if _cluster_of(one) not in clusters]


def _cluster_of(one: WholeSchedule) -> tuple[int | None, int | None]:
    return one.schedule.num_ctas, one.schedule.grid_cluster


def _name_of(func: Operation) -> str:
    name = func.attributes.get("sym_name")
    return name.data if isinstance(name, StringAttr) else ""


def choose(func: Operation, job: Job, knob: str, candidates: Iterable[Candidate[V]]) -> V:
    """Choose a knob of a kernel and set it. Raises InvalidInput[schedule-refused] for an illegal request."""
    value = select(func, job, knob, getattr(requested(job), knob), candidates)
    set_knobs(func, **{knob: value})
    return value


def select(
    func: Operation,
    job: Job,
    knob: str,
    wanted: V | None,
    candidates: Iterable[Candidate[V]],
    place: int | None = None,
) -> V:
    """The chosen value of a knob for a dot or loop, of which ``wanted`` is requested."""
    rest = iter(candidates)
    considered: list[Candidate[V]] = []
    for candidate in rest:
        considered.append(candidate)
        if candidate.value == wanted if wanted is not None else candidate.refused is None:
            break
    else:
        raise _no_candidate(job, knob, wanted, considered)
    found = considered[-1]
    if found.refused is not None:
        raise refusal(
            job.schedule, knob, found.value, str(found.refused), found.remedy or _legal_ones([*considered, *rest])
        )
    if is_listening():
        hear(func, knob, found.value, chain(considered, rest), place)
    return found.value


def _no_candidate(job: Job, knob: str, wanted: Value | None, considered: Iterable[Candidate[Any]]) -> Exception:
    if wanted is None:
        return InternalError("schedule-candidates", f"no legal candidate for {knob}")
    return refusal(job.schedule, knob, wanted, f"it needs {BY_NAME[knob].needs}", _legal_ones(considered))


def _legal_ones(candidates: Iterable[Candidate[Any]]) -> str | None:
    legal = [str(candidate.value) for candidate in candidates if candidate.refused is None]
    return f"legal here: {', '.join(legal)}" if legal else None
