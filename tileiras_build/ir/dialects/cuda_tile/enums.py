"""Enumerations of the cuda_tile dialect: one attribute class per enumeration, public spelling in the text.

The index of a member is its bytecode code (Tile IR AttrDefs.td; nearest_away since bytecode 13.4;
unicast and multicast since 13.5).
Use ``RoundingModeAttr.of(RoundingMode.ZERO)`` for the shared instance; ``attr.data`` is the member.
"""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import ClassVar, Generic, Self, TypeVar

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer


class Signedness(StrEnum):
    UNSIGNED = "unsigned"
    SIGNED = "signed"


class IntegerOverflow(StrEnum):
    NONE = "none"
    NSW = "no_signed_wrap"
    NUW = "no_unsigned_wrap"
    NW = "no_wrap"


class RoundingMode(StrEnum):
    NEAREST_EVEN = "nearest_even"
    ZERO = "zero"
    NEGATIVE_INF = "negative_inf"
    POSITIVE_INF = "positive_inf"
    APPROX = "approx"
    FULL = "full"
    NEAREST_INT_TO_ZERO = "nearest_int_to_zero"
    NEAREST_AWAY = "nearest_away"


class ComparisonOrdering(StrEnum):
    UNORDERED = "unordered"
    ORDERED = "ordered"


class ComparisonPredicate(StrEnum):
    EQUAL = "equal"
    NOT_EQUAL = "not_equal"
    LESS_THAN = "less_than"
    LESS_THAN_OR_EQUAL = "less_than_or_equal"
    GREATER_THAN = "greater_than"
    GREATER_THAN_OR_EQUAL = "greater_than_or_equal"


class AtomicRMWMode(StrEnum):
    AND = "and"
    OR = "or"
    XOR = "xor"
    ADD = "add"
    ADDF = "addf"
    MAX = "max"
    MIN = "min"
    UMAX = "umax"
    UMIN = "umin"
    XCHG = "xchg"


class MemoryScope(StrEnum):
    TL_BLK = "tl_blk"
    DEVICE = "device"
    SYS = "sys"


class MemoryOrderingSemantics(StrEnum):
    WEAK = "weak"
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"


class PaddingValue(StrEnum):
    ZERO = "zero"
    NEG_ZERO = "neg_zero"
    NAN = "nan"
    POS_INF = "pos_inf"
    NEG_INF = "neg_inf"


class MultimemReductionKind(StrEnum):
    ADD = "add"
    MIN = "min"
    MAX = "max"
    AND = "and"
    OR = "or"
    XOR = "xor"
    UMIN = "umin"
    UMAX = "umax"


class PtrAttr(StrEnum):
    """The kind of memory of a pointer; only multimem operations access multicast objects."""

    NONE = "none"
    UNICAST = "unicast"
    MULTICAST = "multicast"


class SymbolVisibility(StrEnum):
    PUBLIC = "public"
    PRIVATE = "private"


E = TypeVar("E", bound=Enum)


class _Shared:
    """A class with one instance of each of its values, in their order."""

    instances: ClassVar[tuple[Self, ...]]


class EnumAttr(Data[E], _Shared, Generic[E]):
    """An enumeration as an attribute, printed ``#cuda_tile.<name><member>``."""

    members: type[E]

    def __init_subclass__(cls, members: type[E] | None = None, **kwargs):
        super().__init_subclass__(**kwargs)
        if members is not None:
            cls.members = members

    @classmethod
    def of(cls, member: Enum | str) -> Self:
        """The shared attribute of a member, by member or public spelling."""
        return cls.instances[list(cls.members).index(cls.members(member))]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> E:
        with parser.in_angle_brackets():
            return cls.members(parser.parse_identifier())

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.value}>")


@irdl_attr_definition
class SignednessAttr(EnumAttr[Signedness], members=Signedness):
    name = "cuda_tile.signedness"


@irdl_attr_definition
class IntegerOverflowAttr(EnumAttr[IntegerOverflow], members=IntegerOverflow):
    name = "cuda_tile.overflow"


@irdl_attr_definition
class RoundingModeAttr(EnumAttr[RoundingMode], members=RoundingMode):
    name = "cuda_tile.rounding"


@irdl_attr_definition
class ComparisonOrderingAttr(EnumAttr[ComparisonOrdering], members=ComparisonOrdering):
    name = "cuda_tile.comparison_ordering"


@irdl_attr_definition
class ComparisonPredicateAttr(EnumAttr[ComparisonPredicate], members=ComparisonPredicate):
    name = "cuda_tile.comparison_predicate"


@irdl_attr_definition
class AtomicRMWModeAttr(EnumAttr[AtomicRMWMode], members=AtomicRMWMode):
    name = "cuda_tile.atomic_rmw_mode"


@irdl_attr_definition
class MemoryScopeAttr(EnumAttr[MemoryScope], members=MemoryScope):
    name = "cuda_tile.memory_scope"


@irdl_attr_definition
class MemoryOrderingSemanticsAttr(EnumAttr[MemoryOrderingSemantics], members=MemoryOrderingSemantics):
    name = "cuda_tile.memory_ordering_semantics"


@irdl_attr_definition
class PaddingValueAttr(EnumAttr[PaddingValue], members=PaddingValue):
    name = "cuda_tile.padding_value"


@irdl_attr_definition
class SymbolVisibilityAttr(EnumAttr[SymbolVisibility], members=SymbolVisibility):
    name = "cuda_tile.symbol_visibility"


@irdl_attr_definition
class MultimemReductionKindAttr(EnumAttr[MultimemReductionKind], members=MultimemReductionKind):
    name = "cuda_tile.multimem_reduction_kind"


@irdl_attr_definition
class PtrAttrAttr(EnumAttr[PtrAttr], members=PtrAttr):
    name = "cuda_tile.ptr_attr"


ENUM_ATTRS: tuple[type[EnumAttr], ...] = (
    SignednessAttr,
    IntegerOverflowAttr,
    RoundingModeAttr,
    ComparisonOrderingAttr,
    ComparisonPredicateAttr,
    AtomicRMWModeAttr,
    MemoryScopeAttr,
    MemoryOrderingSemanticsAttr,
    PaddingValueAttr,
    SymbolVisibilityAttr,
    MultimemReductionKindAttr,
    PtrAttrAttr,
)

for _attr in ENUM_ATTRS:
    _attr.instances = tuple(_attr(member) for member in _attr.members)
