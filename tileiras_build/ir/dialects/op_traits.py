"""What passes must know of each operation of a tile program: columns of its row, asked by ``facts_of``.

    ViewOp = define("nv_tileaa.view", …, facts=Facts(Layouts.SHAPE, keeps=Keeps.ELEMENTS | Keeps.ZEROS))

An operation without facts is an error: none is taken for harmless because nobody thought of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, Flag, auto
from typing import TYPE_CHECKING, Generic, TypeGuard, TypeVar

from xdsl.ir import Operation

from ...core.errors import InternalError

if TYPE_CHECKING:
    from .op_definition import TableOperation

Kind = TypeVar("Kind", bound=Operation)


class Layouts(Enum):
    """How the register layouts of an operation's tiles are related."""

    NONE = "no tiles"
    ELEMENTWISE = "one layout for all tiles"
    FREE = "any layout, at no cost"
    SHAPE = "the result's follows from the operand's by its dimensions"
    POINTER = "one layout for all tiles, chosen by how memory is accessed"
    OWN = "a rule of its own"


class Effect(Flag):
    """What an operation does beside giving results, as far as others must come before or after it."""

    NONE = 0
    READ = auto()  # of global memory, ordered by tokens
    WRITE = auto()
    COPY = auto()  # of global memory, asynchronous: in the order of its pipeline or group
    FENCE = auto()  # orders accesses by its token
    BARRIER = auto()  # all threads meet
    OUTPUT = auto()  # what a user sees
    GRID = auto()  # waits for another grid, or lets one begin


class Keeps(Flag):
    """What of its first operand an operation's result is."""

    NOTHING = 0
    ELEMENTS = auto()  # the same elements under other coordinates
    TILE = auto()  # the same tile in another layout
    ROUNDED = auto()  # the same numbers in another format
    VALUE = auto()  # the same number, perhaps wider
    ZEROS = auto()  # zeros where the operand is


class Structure(Enum):
    """What an operation with regions, or one that ends a region, is to control flow."""

    ENTRY = "a kernel or function"
    RETURN = "the end of it"
    COUNTED_LOOP = "a loop whose first argument counts"
    LOOP = "a loop until break"
    CHOICE = "one of two regions"
    AGENTS = "regions that run side by side, in warps of their own"
    COMBINATION = "how two elements become one"
    YIELD = "the end of a region with its values"
    CONTINUE = "the end of an iteration"
    BREAK = "the end of a loop"


@dataclass(frozen=True)
class Facts:
    """The facts of one operation; ``cheap``: computing it again costs less than moving its result elsewhere."""

    layouts: Layouts
    effect: Effect = Effect.NONE
    keeps: Keeps = Keeps.NOTHING
    structure: Structure | None = None
    cheap: bool = False


# What many rows are.
SCALAR = Facts(Layouts.NONE)
ELEMENTWISE = Facts(Layouts.ELEMENTWISE)
CHEAP = Facts(Layouts.ELEMENTWISE, cheap=True)
OWN = Facts(Layouts.OWN)
ENTRY = Facts(Layouts.NONE, structure=Structure.ENTRY)
RETURN = Facts(Layouts.NONE, structure=Structure.RETURN)


def flow(structure: Structure) -> Facts:
    """The facts of control flow, which hands tiles on as they are."""
    return Facts(Layouts.OWN, structure=structure)


_MATH = "absf absi atan2 ceil cos cosh exp floor log log2 powf fpowi sin sinh tan tanh"
# By the operation's name: those of other dialects here, those of rows as they are defined.
FACTS: dict[str, Facts] = {
    **{f"math.{name}": ELEMENTWISE for name in _MATH.split()},
    "arith.constant": Facts(Layouts.FREE, cheap=True),
    "builtin.module": SCALAR,
    "builtin.unrealized_conversion_cast": SCALAR,
    "func.func": ENTRY,
    "func.return": RETURN,
    "gpu.func": ENTRY,
    "gpu.module": SCALAR,
    "llvm.return": RETURN,
}


def facts_of(op: Operation) -> Facts:
    """The facts of an operation; raises InternalError where it has none."""
    try:
        return FACTS[op.name]
    except KeyError:
        raise InternalError("operation-facts", f"nothing is known of {op.name}: its row has no facts") from None


def register(facts: Mapping[str, Facts]) -> None:
    """Add the facts of rows; raises InternalError where a row's operation has other facts already."""
    for name, known in facts.items():
        if FACTS.setdefault(name, known) != known:
            raise InternalError("operation-facts", f"{name} has two rows that say different things of it")


# ---- questions -----------------------------------------------------------------------------------
class _Questions(Generic[Kind]):
    """Questions about operations that are true of those of one class alone."""

    def make(self, answer: Callable[[Facts], bool]) -> Callable[[Operation], TypeGuard[Kind]]:
        """One question. Passes ask it of every operation they walk over: an answer is found once by name."""
        known: dict[str, bool] = {}

        def ask(op: Operation) -> TypeGuard[Kind]:
            try:
                return known[op.name]
            except KeyError:
                return known.setdefault(op.name, answer(facts_of(op)))

        return ask


_of_all: _Questions[Operation] = _Questions()
# True of no operation that FACTS lists itself.
_of_rows: _Questions[TableOperation] = _Questions()

LOOPS = frozenset({Structure.COUNTED_LOOP, Structure.LOOP})
STRUCTURED = LOOPS | {Structure.CHOICE}
EXITS = frozenset({Structure.CONTINUE, Structure.BREAK})
LEAVES = EXITS | {Structure.YIELD}

is_entry = _of_all.make(lambda facts: facts.structure is Structure.ENTRY)
is_counted_loop = _of_rows.make(lambda facts: facts.structure is Structure.COUNTED_LOOP)
is_loop = _of_rows.make(lambda facts: facts.structure in LOOPS)
is_choice = _of_rows.make(lambda facts: facts.structure is Structure.CHOICE)
# A loop or a choice: what carries values into regions, or out of them.
is_structured = _of_rows.make(lambda facts: facts.structure in STRUCTURED)
# Of reductions and scans.
is_combination = _of_rows.make(lambda facts: facts.structure is Structure.COMBINATION)
is_agents = _of_rows.make(lambda facts: facts.structure is Structure.AGENTS)
# Ends of regions: an iteration's, a loop's, both of these, any other's, all but a function's.
is_continue = _of_rows.make(lambda facts: facts.structure is Structure.CONTINUE)
is_break = _of_rows.make(lambda facts: facts.structure is Structure.BREAK)
is_exit = _of_rows.make(lambda facts: facts.structure in EXITS)
is_yield = _of_rows.make(lambda facts: facts.structure is Structure.YIELD)
is_return = _of_all.make(lambda facts: facts.structure is Structure.RETURN)
is_leave = _of_rows.make(lambda facts: facts.structure in LEAVES)

is_cheap = _of_all.make(lambda facts: facts.cheap)
# The result is the operand under other coordinates; or that, laid out anew, or rounded; the same number; zeros if it is.
renames = _of_all.make(lambda facts: Keeps.ELEMENTS in facts.keeps)
passes_through = _of_all.make(lambda facts: bool(facts.keeps & (Keeps.ELEMENTS | Keeps.TILE | Keeps.ROUNDED)))
keeps_value = _of_all.make(lambda facts: Keeps.VALUE in facts.keeps)
keeps_zeros = _of_all.make(lambda facts: Keeps.ZEROS in facts.keeps)

# Accesses that tokens order, and those that write; the two are an exchange's.
_ACCESS, _LATER = Effect.READ | Effect.WRITE, Effect.WRITE | Effect.FENCE | Effect.BARRIER
is_access = _of_rows.make(lambda facts: bool(facts.effect & _ACCESS) and Effect.COPY not in facts.effect)
is_exchange = _of_rows.make(lambda facts: facts.effect == _ACCESS)
is_store = _of_rows.make(lambda facts: facts.effect == Effect.WRITE)
is_fence = _of_rows.make(lambda facts: Effect.FENCE in facts.effect)
# What reads must not be moved over; what nothing that is seen from outside must be moved over; what tokens order.
changes_memory = _of_all.make(lambda facts: bool(facts.effect & _LATER))
acts_outside = _of_all.make(lambda facts: bool(facts.effect & (_LATER | Effect.OUTPUT)))
is_ordered = _of_all.make(lambda facts: bool(facts.effect & (_ACCESS | Effect.FENCE)))
waits_for_grid = _of_all.make(lambda facts: Effect.GRID in facts.effect)
