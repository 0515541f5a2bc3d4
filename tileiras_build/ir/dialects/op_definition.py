"""Operations defined by one row each: name, operands, results, meaning.

A row such as

    LoadOp = define("nv_tileaa.load", "pointer mask? other? token?", "value token?", "read a tile of pointers")

defines an xDSL operation whose operand groups are attributes of the object: ``op.pointer`` is a value, ``op.mask`` a
value or None, a ``*`` group a tuple of values. With more than one optional or variadic group the sizes are in the
property ``operandSegmentSizes``, as in MLIR. Attributes are in ``op.attributes``; those that a row declares are
attributes of the object as well, by their plain values, and no others verify (``attribute_kinds``).

All rows share one text form. Required operands come first, the others are named; a type that all operands
and the only result have is written once; attributes of an operation with regions follow a keyword, as in MLIR:

    %i = nv_tileaa.get_program_id {axis = 0 : i32} : i32
    %x = nv_tileaa.addf %v, %v {rounding_mode = "zero"} : tensor<8xf32>
    %w, %t = nv_tileaa.load %p mask(%m) token(%s) {mem_semantic = "weak"} : (!p, !mask, !token) -> (!value, !token)
    %y = nv_tileaa.for %i, %j, %k initial(%x) attributes {loc = #loc0} : (i32, i32, i32, f32) -> f32 {
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from xdsl.dialects.builtin import FunctionType, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import traits_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoTerminator, OpTrait, Pure
from xdsl.utils.exceptions import VerifyException

from .attribute_kinds import ALWAYS_ALLOWED, AttributeKind, accessor_name, attribute_fault
from .fast_xdsl import GROUP, VALUES, create, item, operands_of, segment_sizes, segments
from .op_traits import OpTraits, register_traits

Kind = TypeVar("Kind")


def _parse_groups(spec: str) -> tuple[tuple[str, str], ...]:
    return tuple((word.rstrip("?*"), word[-1] if word[-1] in "?*" else "1") for word in spec.split())


class TableOp(Operation):
    """Base of operations that ``define`` creates."""

    operand_groups: tuple[tuple[str, str], ...] = ()
    result_groups: tuple[tuple[str, str], ...] = ()
    region_count: int = 0
    optional_regions: int = 0
    declared: Mapping[str, AttributeKind] | None = None
    op_traits: OpTraits | None = None

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """The operand groups, results and declared attributes of a row."""

        def __setattr__(self, name: str, value: Any) -> None:
            """The declared attributes of a row."""

    @classmethod
    def make(
        cls,
        operands: Sequence[SSAValue | Sequence[SSAValue] | None],
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
        **values: Any,
    ):
        """An operation from one entry per operand group: a value, None, or a sequence of values.

        ``attributes`` are copied; ``values`` are plain values of declared attributes, by accessor name."""
        flat: list[SSAValue] = []
        sizes: list[int] = []
        for entry in operands:
            before = len(flat)
            if entry is not None:
                flat.extend((entry,) if not isinstance(entry, GROUP) and isinstance(entry, VALUES) else entry)
            sizes.append(len(flat) - before)
        properties = {"operandSegmentSizes": segments(*sizes)} if cls.segmented else {}
        made = create(cls, flat, result_types, properties, dict(attributes or {}), regions=regions)
        for name, value in values.items():
            made.set_value(name, value)
        return made

    def set_value(self, name: str, value: Any) -> None:
        """Assign a declared attribute by accessor name; raises VerifyException if there is none."""
        if not isinstance(getattr(type(self), name, None), _AttributeProperty):
            raise VerifyException(f"{self.name} has no attribute {name}")
        setattr(self, name, value)

    segmented = False

    def group(self, index: int) -> tuple[SSAValue, ...]:
        """The operands of one group."""
        if not self.segmented:
            return self._single_group(index)
        sizes = segment_sizes(self)
        start = sum(sizes[:index])
        return item(operands_of(self), slice(start, start + sizes[index]))

    def _single_group(self, index: int) -> tuple[SSAValue, ...]:
        fixed, ones, others, is_one = _group_index(self.operand_groups, index)
        extra = len(operands_of(self)) - fixed
        start = ones + others * extra
        return item(operands_of(self), slice(start, start + (1 if is_one else extra)))

    def verify_(self) -> None:
        minimum = sum(kind == "1" for _, kind in self.operand_groups)
        fixed = all(kind == "1" for _, kind in self.operand_groups)
        if len(self.operands) < minimum or (fixed and len(self.operands) != minimum):
            raise VerifyException(f"{self.name} needs {minimum} operands, got {len(self.operands)}")
        if self.segmented and "operandSegmentSizes" not in self.properties:
            raise VerifyException(f"{self.name} needs operandSegmentSizes")
        most = self.region_count + self.optional_regions
        if not self.region_count <= len(self.regions) <= most:
            wanted = " to ".join(map(str, sorted({self.region_count, most})))
            raise VerifyException(f"{self.name} needs {wanted} regions, got {len(self.regions)}")
        if self.declared is not None and (reason := attribute_fault(self.name, self.attributes, self.declared)):
            raise VerifyException(reason)

    # ---- text ------------------------------------------------------------------------------------
    @classmethod
    def unnamed_groups(cls) -> tuple[int, ...]:
        """The operand groups that are written first, without names: the only one, or the required ones."""
        kinds = [kind for _, kind in cls.operand_groups]
        return (0,) if len(kinds) == 1 else tuple(index for index, kind in enumerate(kinds) if kind == "1")

    def print(self, printer: Printer) -> None:
        """Everything after the operation's name."""
        if isinstance(symbol := self.attributes.get(SYMBOL), StringAttr):
            printer.print_string(" ")
            printer.print_symbol_name(symbol.data)
        self._print_operands(printer)
        names = [name for name in sorted(self.attributes, key=LAST.__contains__) if name != SYMBOL]
        attributes = {name: self.attributes[name] for name in names}
        printer.print_op_attributes(attributes, print_keyword=bool(self.region_count))
        self._print_types(printer)
        for region in self.regions:
            printer.print_string(" ")
            printer.print_region(region)

    def _print_operands(self, printer: Printer) -> None:
        unnamed = self.unnamed_groups()
        first = [value for index in unnamed for value in self.group(index)]
        if first:
            printer.print_string(" ")
            printer.print_list(first, printer.print_ssa_value)
        for index, (name, _) in enumerate(self.operand_groups):
            if index not in unnamed and (values := self.group(index)):
                printer.print_string(f" {name}(")
                printer.print_list(values, printer.print_ssa_value)
                printer.print_string(")")

    def _print_types(self, printer: Printer) -> None:
        operands, results = [value.type for value in self.operands], [value.type for value in self.results]
        if not operands and not results:
            return
        printer.print_string(" : ")
        if len(results) == 1 and all(type == results[0] for type in operands):
            printer.print_attribute(results[0])
        else:
            printer.print_function_type(operands, results)

    @classmethod
    def parse(cls, parser: Parser):
        """An operation from its text; raises ParseError."""
        symbol = parser.parse_optional_symbol_name()
        operands, sizes = cls._parse_operands(parser)
        attributes = cls._parse_attributes(parser)
        if symbol is not None:
            attributes[SYMBOL] = symbol
        position = parser.pos
        operand_types, result_types = _parse_types(parser, len(operands))
        values = parser.resolve_operands(operands, operand_types, position)
        regions = [parser.parse_region() for _ in range(cls.region_count)]
        regions += filter(None, [parser.parse_optional_region() for _ in range(cls.optional_regions)])
        properties = {"operandSegmentSizes": segments(*sizes)} if cls.segmented else {}
        return cls.create(
            operands=values, result_types=result_types, properties=properties, attributes=attributes, regions=regions
        )

    @classmethod
    def _parse_operands(cls, parser: Parser) -> tuple[list[UnresolvedOperand], list[int]]:
        """The operands in the row's order, and the size of each group."""
        unnamed = cls.unnamed_groups()
        # An operation without operands may be followed by the results of the next one.
        first = _parse_operand_list(parser) if unnamed else []
        if len(cls.operand_groups) == 1 and cls.operand_groups[0][1] != "1":
            return first, [len(first)]
        if len(first) != len(unnamed):
            parser.raise_error(f"{cls.name} takes {len(unnamed)} operands here, got {len(first)}")
        groups = {index: [operand] for index, operand in zip(unnamed, first)}
        for index, (name, kind) in enumerate(cls.operand_groups):
            if kind != "1":
                named = parser.parse_optional_keyword(name) is not None
                delimiter, operand = parser.Delimiter.PAREN, parser.parse_unresolved_operand
                groups[index] = parser.parse_comma_separated_list(delimiter, operand) if named else []
        ordered = [groups[index] for index in range(len(groups))]
        return [operand for group in ordered for operand in group], [len(group) for group in ordered]

    @classmethod
    def _parse_attributes(cls, parser: Parser) -> dict[str, Attribute]:
        if not cls.region_count:
            return parser.parse_optional_attr_dict()
        found = parser.parse_optional_attr_dict_with_keyword()
        return {} if found is None else dict(found.data)


SYMBOL, LAST = "sym_name", ("loc",)


def _parse_operand_list(parser: Parser) -> list[UnresolvedOperand]:
    optional, required = parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
    return parser.parse_optional_undelimited_comma_separated_list(optional, required) or []


def _parse_types(parser: Parser, operands: int) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
    """The types of the operands and of the results."""
    if operands:
        parser.parse_punctuation(":", " before the types of operands and results")
    elif parser.parse_optional_punctuation(":") is None:
        return (), ()
    type = parser.parse_type()
    if isinstance(type, FunctionType):
        return type.inputs.data, type.outputs.data
    return [type] * operands, [type]


@cache
def _group_index(groups: tuple[tuple[str, str], ...], index: int) -> tuple[int, int, int, bool]:
    """(number of single-operand groups, single groups before ``index``, other groups before it, whether it is single)."""
    kinds = [kind for _, kind in groups]
    ones = kinds[:index].count("1")
    return len(kinds) - (1 if set(kinds) - {"1"} else 0), ones, index - ones, kinds[index] == "1"


def _operand_property(index: int, kinds: Sequence[str]):
    if set(kinds[: index + 1]) == {"1"}:
        return property(lambda self: item(operands_of(self), index) if index < len(operands_of(self)) else None)
    kind = kinds[index]

    def read(self: TableOp):
        values = self.group(index)
        return values if kind == "*" else (values[0] if values else None)

    return property(read)


def _result_property(index: int):
    return property(lambda self: item(self.results, index) if index < len(self.results) else None)


class _AttributeProperty(property):
    """The accessor of a declared attribute: returns its plain value, and checks assigned values."""

    def __init__(self, name: str, kind: AttributeKind):
        def read(op: TableOp) -> Any:
            attribute = op.attributes.get(name)
            if attribute is not None:
                return kind.read(attribute)
            if kind.required:
                raise VerifyException(f"{op.name} needs its attribute {name}")
            return kind.default

        def write(op: TableOp, value: Any) -> None:
            if not kind.required and (value is None or value is False):
                op.attributes.pop(name, None)
            else:
                op.attributes[name] = _made(op, name, kind, value)

        super().__init__(read, write)


def _made(op: TableOp, name: str, kind: AttributeKind, value: Any) -> Attribute:
    if not isinstance(value, kind.plain) or not kind.accepts(attribute := kind.make(value)):
        raise VerifyException(f"{op.name} takes {kind.text} as its attribute {name}, got {value!r}")
    return attribute


def _accessors(declared: Mapping[str, AttributeKind], taken: Mapping[str, object]) -> dict[str, _AttributeProperty]:
    made = {accessor_name(name): _AttributeProperty(name, kind) for name, kind in declared.items()}
    twice = sorted(name for name in made if name in taken or hasattr(TableOp, name))
    assert not twice and len(made) == len(declared), f"attributes {twice} shadow other members of operations"
    return made


def location_of(op: Operation) -> dict[str, Attribute]:
    """The attributes that any operation may have, for an operation that replaces this one."""
    return {name: op.attributes[name] for name in ALWAYS_ALLOWED if name in op.attributes}


def define(
    name: str,
    operands: str,
    results: str,
    meaning: str,
    *,
    pure: bool = True,
    terminator: bool = False,
    regions: int = 0,
    optional_regions: int = 0,
    attributes: Mapping[str, AttributeKind] | None = MappingProxyType({}),
    op_traits: OpTraits | None = None,
) -> type[TableOp]:
    """The operation class of one row; ``?`` marks an optional group, ``*`` a variadic one.

    ``attributes``: those allowed besides ANYWHERE's, by name; None if the dialect's document does not list them.
    ``op_traits``: properties for passes over tile programs.
    """
    register_traits({name: op_traits} if op_traits is not None else {})
    groups, outputs = _parse_groups(operands), _parse_groups(results)
    traits: list[OpTrait] = [IsTerminator()] if terminator else []
    traits += [Pure()] if pure and not terminator else []
    traits += [NoTerminator()] if regions == -1 else []
    body: dict[str, object] = {
        "__doc__": meaning,
        "name": name,
        "operand_groups": groups,
        "result_groups": outputs,
        "region_count": max(regions, 0),
        "optional_regions": optional_regions,
        "segmented": sum(kind != "1" for _, kind in groups) > 1,
        "traits": traits_def(*traits),
        "declared": attributes,
        "op_traits": op_traits,
    }
    kinds = [kind for _, kind in groups]
    body |= {group: _operand_property(index, kinds) for index, (group, _) in enumerate(groups)}
    body |= {group: _result_property(index) for index, (group, kind) in enumerate(outputs) if kind != "*"}
    body |= _accessors(attributes or {}, body)
    class_name = "".join(part[0].upper() + part[1:] for part in name.split(".", 1)[1].replace(".", "_").split("_"))
    return type(f"{class_name}Op", (TableOp,), body)


def defined_in(kind: type[Kind], *modules: ModuleType) -> list[type[Kind]]:
    """The operations, or attributes, that modules define, in order: classes with a name in the dialect."""
    found = [value for module in modules for value in vars(module).values() if isinstance(value, type)]
    homes = {module.__name__ for module in modules}
    return [value for value in found if kind in value.__mro__ and value.__module__ in homes and "name" in vars(value)]


def single_block(op: Operation, index: int = 0) -> Block:
    """The only block of a region."""
    return op.regions[index].blocks[0]
