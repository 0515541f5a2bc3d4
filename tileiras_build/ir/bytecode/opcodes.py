"""OPCODES: the encoding of each operation of CUDA Tile IR in bytecode 13.1 to 13.5.

One frozen table for the reader and the writer. Operation, operand and attribute names are those of
``dialects/cuda_tile``. Sources: Tile IR BytecodeOpcodes.td and Ops.td (13.1 to 13.3), the encoders of the
`cuda-tile` 1.7 wheel (13.4 and 13.5). What versions change outside of operations: SINCE and POINTER_ATTRIBUTES.

An operation is written in this order; each integer is a varint unless noted otherwise:

    opcode
    result types     ``results`` type indices; with ``counted_results``, their count first
    flags            one integer if the row has flags in this version: bit i says whether flags[i] is set/present
    attributes       in order, by kind (see ATTRIBUTE_KINDS); optional ones only if their flag is set
    operands         value indices. ``counted_operands``: the total count, then all of them. Otherwise one each,
                     optional ones only if flagged, variadic ones as count and values
    regions          if the operation has any: their count, then per region its blocks
"""

from __future__ import annotations

from dataclasses import dataclass, field

Version = tuple[int, int]

V13_1, V13_2, V13_3, V13_4, V13_5 = (13, 1), (13, 2), (13, 3), (13, 4), (13, 5)
VERSIONS: tuple[Version, ...] = (V13_1, V13_2, V13_3, V13_4, V13_5)
NEWEST = VERSIONS[-1]
DEFAULT_VERSION = V13_4  # default of writers: tools that are one release older than the newest can read it


def version_text(version: Version) -> str:
    """The text of a version: "13.4"."""
    return ".".join(map(str, version))


# Part of a section or debug attribute -> the first version that writes it (`cuda-tile` 1.7, writer.py, debug_info.py).
SINCE: dict[str, Version] = {
    "global.visibility": V13_3,  # and whether the global is constant
    "function.attributes": V13_5,  # the hints, flagged or not, then an array of dictionaries, one per parameter
    "subprogram.flags": V13_5,  # bit 0: a declaration
    "producer": V13_3,  # the section of the program that wrote the file
}

# Member of an enumeration that is newer than the enumeration -> the first version that has it (tileirdisasm 13.5).
MEMBERS_SINCE: dict[tuple[str, str], Version] = {("RoundingMode", "nearest_away"): V13_4}

# Attribute of a pointer, in the order of its codes -> the first version that writes it (tileirdisasm 13.5).
POINTER_ATTRIBUTES: dict[str, Version] = {"none": V13_4, "unicast": V13_5, "multicast": V13_5}

# kind of an attribute -> its encoding. Capitalized names are enumerations, written as their index.
ATTRIBUTE_KINDS = {
    "i32": "varint, 32 bits",
    "i64": "varint, 64 bits",
    "bool": "one byte",
    "string": "string index",
    "symbol": "string index",
    "dense": "constant index; the type is that of the result",
    "i32s": "count, then 4 bytes each",
    "bools": "count, then one byte each",
    "array": "count, then tagged attributes",
    "predicate": "tagged attribute",
    "hints": "count, then (string index, tagged dictionary) pairs",
    "RoundingMode": "enum",
    "IntegerOverflow": "enum",
    "Signedness": "enum",
    "ComparisonPredicate": "enum",
    "ComparisonOrdering": "enum",
    "AtomicRMWMode": "enum",
    "MemoryScope": "enum",
    "MemoryOrderingSemantics": "enum",
    "MultimemReductionKind": "enum",
}


@dataclass(frozen=True)
class Attribute:
    """One attribute: property name, kind, first version that writes it, enum member implied by older files."""

    name: str
    kind: str
    since: Version = V13_1
    default: str | None = None


@dataclass(frozen=True)
class Operand:
    """One operand group: ``arity`` is "1", "?" (optional) or "*" (variadic)."""

    name: str
    arity: str = "1"


@dataclass(frozen=True)
class Opcode:
    """One row of OPCODES; see the module's docstring for the meaning of the fields."""

    number: int
    name: str
    since: Version
    results: int | None
    counted_results: bool
    flags: tuple[str, ...]
    flags_since: Version
    attributes: tuple[Attribute, ...]
    operands: tuple[Operand, ...]
    counted_operands: bool
    segmented: bool
    regions: int
    results_since: Version | None  # older files have the operation without its results
    units: tuple[str, ...] = field(init=False)

    def __post_init__(self):
        known = {a.name for a in self.attributes} | {o.name for o in self.operands if o.arity == "?"}
        object.__setattr__(self, "units", tuple(flag for flag in self.flags if flag not in known))
        assert all(a.kind in ATTRIBUTE_KINDS for a in self.attributes), self.name
        optional = {o.name for o in self.operands if o.arity == "?"}
        assert self.counted_operands or optional <= set(self.flags), f"{self.name}: an optional operand has no flag"
        assert self.segmented == (sum(o.arity != "1" for o in self.operands) > 1), self.name
        assert self.counted_results or self.results is not None, self.name


def _operand(text: str) -> Operand:
    return Operand(text.rstrip("?*"), text[-1] if text[-1] in "?*" else "1")


def _attribute(text: str) -> Attribute:
    """Name, kind, default and first version of a text such as "overflow:IntegerOverflow=none@13.2"."""
    text, _, since = text.partition("@")
    text, _, default = text.partition("=")
    name, kind = text.split(":")
    return Attribute(name, kind, _version(since) if since else V13_1, default or None)


def _version(text: str) -> Version:
    major, minor = text.split(".")
    return int(major), int(minor)


def opcode(
    number: int,
    name: str,
    operands: str = "",
    attributes: str = "",
    *,
    since: str = "13.1",
    results: int | None = 1,
    counted_results: bool = False,
    flags: str = "",
    flags_since: str | None = None,
    counted_operands: bool = False,
    regions: int = 0,
    results_since: str | None = None,
) -> Opcode:
    """A row, with operands and attributes as words."""
    groups = tuple(map(_operand, operands.split()))
    return Opcode(
        number,
        name,
        _version(since),
        results,
        counted_results or results is None,
        tuple(flags.split()),
        _version(flags_since or since),
        tuple(map(_attribute, attributes.split())),
        groups,
        counted_operands,
        sum(group.arity != "1" for group in groups) > 1,
        regions,
        _version(results_since) if results_since else None,
    )


def _unary(number: int, name: str, attributes: str = "", **rest) -> Opcode:
    return opcode(number, name, "source", attributes, **rest)


def _binary(number: int, name: str, attributes: str = "", **rest) -> Opcode:
    return opcode(number, name, "lhs rhs", attributes, **rest)


def _terminator(number: int, name: str) -> Opcode:
    return opcode(number, name, "arguments*", results=None, counted_operands=True)


_FTZ = "flush_to_zero"
_ROUND = "rounding_mode:RoundingMode"
_OVERFLOW = "overflow:IntegerOverflow"
_SIGN = "signedness:Signedness"
_ORDER = "memory_ordering_semantics:MemoryOrderingSemantics"
_SCOPE = "memory_scope:MemoryScope"
_HINTS = "optimization_hints:hints"
_ACCESS = f"{_ORDER} {_SCOPE} {_HINTS}"
_ACCESS_FLAGS = "memory_scope optimization_hints"
_INBOUNDS = "inbounds:bools@13.4"
_REDUCTION = "reduction:MultimemReductionKind"

# fmt: off  (a row of the table is one line, or two)
_ROWS = (
    _unary(0x00, "absf"),
    _unary(0x01, "absi"),
    _binary(0x02, "addf", _ROUND, flags=_FTZ),
    _binary(0x03, "addi", _OVERFLOW),
    _binary(0x04, "andi"),
    opcode(0x05, "assert", "condition", "message:string", results=0),
    opcode(0x06, "assume", "value", "predicate:predicate"),
    opcode(
        0x07, "atomic_cas_tko", "pointers cmp val mask? token?", f"{_ORDER} {_SCOPE}", results=2, flags="mask token"
    ),
    opcode(
        0x08,
        "atomic_rmw_tko",
        "pointers arg mask? token?",
        f"{_ORDER} {_SCOPE} mode:AtomicRMWMode",
        results=2,
        flags="mask token",
    ),
    _unary(0x09, "bitcast"),
    _terminator(0x0A, "break"),
    _unary(0x0B, "broadcast"),
    _binary(0x0C, "cat", "dim:i64"),
    _unary(0x0D, "ceil"),
    _binary(0x0E, "cmpf", "comparison_predicate:ComparisonPredicate comparison_ordering:ComparisonOrdering"),
    _binary(0x0F, "cmpi", f"comparison_predicate:ComparisonPredicate {_SIGN}"),
    opcode(0x10, "constant", "", "value:dense"),
    _terminator(0x11, "continue"),
    _unary(0x12, "cos"),
    _unary(0x13, "cosh"),
    _binary(0x14, "divf", _ROUND, flags=_FTZ),
    _binary(0x15, "divi", f"{_SIGN} rounding:RoundingMode"),
    _unary(0x17, "exp", f"{_ROUND}=full@13.3"),
    _unary(0x18, "exp2", flags=_FTZ),
    opcode(0x25, "exti", "from_", _SIGN),
    opcode(0x26, "extract", "source indices*", counted_results=True, counted_operands=True),
    _unary(0x27, "floor"),
    opcode(0x28, "fma", "lhs rhs acc", _ROUND, flags=_FTZ),
    opcode(
        0x29,
        "for",
        "lower_bound upper_bound step init_values*",
        results=None,
        flags="unsignedCmp",
        flags_since="13.2",
        counted_operands=True,
        regions=1,
    ),
    opcode(0x2A, "ftof", "from_", _ROUND),
    opcode(0x2B, "ftoi", "from_", f"{_SIGN} {_ROUND}", flags="saturating", flags_since="13.4"),
    opcode(0x2C, "get_global", "", "name:symbol"),
    opcode(0x2D, "get_index_space_shape", "src", results=None),
    opcode(0x2E, "get_num_tile_blocks", results=3),
    opcode(0x2F, "get_tensor_shape", "src", results=None),
    opcode(0x30, "get_tile_block_id", results=3),
    opcode(0x32, "if", "condition", results=None, regions=2),
    _unary(0x33, "int_to_ptr"),
    opcode(0x3A, "iota"),
    opcode(0x3B, "itof", "from_", f"{_SIGN} {_ROUND}"),
    opcode(0x3C, "join_tokens", "tokens*", counted_results=True, counted_operands=True),
    opcode(
        0x3D,
        "load_ptr_tko",
        "source mask? padding_value? token?",
        _ACCESS,
        results=2,
        flags=f"{_ACCESS_FLAGS} mask padding_value token",
    ),
    opcode(
        0x3E,
        "load_view_tko",
        "view index* token?",
        f"{_ACCESS} {_INBOUNDS}",
        results=2,
        counted_results=True,
        flags=f"{_ACCESS_FLAGS} token",
    ),
    _unary(0x3F, "log"),
    _unary(0x40, "log2"),
    opcode(0x41, "loop", "init_values*", results=None, counted_operands=True, regions=1),
    opcode(0x42, "make_partition_view", "tensor_view"),
    opcode(0x43, "make_tensor_view", "base dynamic_shape* dynamic_strides*", counted_results=True),
    opcode(0x44, "make_token"),
    _binary(0x45, "maxf", flags=f"propagate_nan {_FTZ}"),
    _binary(0x46, "maxi", _SIGN),
    _binary(0x47, "minf", flags=f"propagate_nan {_FTZ}"),
    _binary(0x48, "mini", _SIGN),
    opcode(0x49, "mmaf", "lhs rhs acc", flags="fast_acc", flags_since="13.3"),
    opcode(0x4A, "mmai", "lhs rhs acc", "signedness_lhs:Signedness signedness_rhs:Signedness"),
    _binary(0x4C, "mulf", _ROUND, flags=_FTZ),
    opcode(0x4D, "mulhii", "x y"),
    _binary(0x4E, "muli", _OVERFLOW),
    _unary(0x4F, "negf"),
    _unary(0x50, "negi", f"{_OVERFLOW}=none@13.2"),
    opcode(0x51, "offset", "ptr offset"),
    _binary(0x52, "ori"),
    _unary(0x53, "permute", "permutation:i32s"),
    opcode(0x54, "fpowf", "source exponent"),
    opcode(
        0x55,
        "print_tko",
        "args* token?",
        "str:string",
        results=None,
        flags="token",
        flags_since="13.2",
        results_since="13.2",
    ),
    _unary(0x56, "ptr_to_int"),
    _unary(0x57, "ptr_to_ptr"),
    opcode(0x58, "reduce", "arguments*", "dim:i32 identities:array", results=None, counted_operands=True, regions=1),
    _binary(0x59, "remf"),
    _binary(0x5A, "remi", _SIGN),
    _unary(0x5B, "reshape"),
    _terminator(0x5C, "return"),
    _unary(0x5D, "rsqrt", flags=_FTZ),
    opcode(
        0x5E,
        "scan",
        "arguments*",
        "dim:i32 reverse:bool identities:array",
        results=None,
        counted_operands=True,
        regions=1,
    ),
    opcode(0x5F, "select", "cond val_if_true val_if_false"),
    _binary(0x60, "shli", _OVERFLOW),
    _binary(0x61, "shri", _SIGN),
    _unary(0x62, "sin"),
    _unary(0x63, "sinh"),
    _unary(0x64, "sqrt", _ROUND, flags=_FTZ),
    opcode(0x65, "store_ptr_tko", "destination value mask? token?", _ACCESS, flags=f"{_ACCESS_FLAGS} mask token"),
    opcode(
        0x66,
        "store_view_tko",
        "tile view index* token?",
        f"{_ACCESS} {_INBOUNDS}",
        counted_results=True,
        flags=f"{_ACCESS_FLAGS} token",
    ),
    _binary(0x67, "subf", _ROUND, flags=_FTZ),
    _binary(0x68, "subi", _OVERFLOW),
    _unary(0x69, "tan"),
    _unary(0x6A, "tanh", f"{_ROUND}=full@13.2"),
    opcode(0x6B, "trunci", "from_", _OVERFLOW),
    _binary(0x6C, "xori"),
    _terminator(0x6D, "yield"),
    opcode(0x6E, "atan2", "x y", since="13.2"),
    _unary(0x6F, "pack", since="13.3"),
    _unary(0x70, "unpack", since="13.3"),
    opcode(0x71, "alloca", "", "num_elem:i64 alignment:i64", since="13.3", flags="global"),
    opcode(0x72, "mmaf_scaled", "lhs rhs acc lhs_scale rhs_scale", since="13.3"),
    opcode(0x73, "make_gather_scatter_view", "tensor_view", since="13.3"),
    opcode(0x74, "make_strided_view", "tensor_view", since="13.3"),
    opcode(
        0x75,
        "atomic_red_view_tko",
        "view index* value token?",
        f"{_ORDER} {_SCOPE} mode:AtomicRMWMode inbounds:bools@13.5",
        since="13.3",
        counted_results=True,
        flags="token",
    ),
    opcode(0x76, "insert", "source destination indices*", since="13.4", counted_results=True, counted_operands=True),
    opcode(0x77, "gdc_launch_dependents_tko", "token?", since="13.4", counted_operands=True),
    opcode(0x78, "gdc_wait_tko", "token?", since="13.4", counted_operands=True),
    opcode(0x79, "fpowi", "source exponent", since="13.4"),
    opcode(0x7A, "memory_fence_alias_tko", "token", since="13.4"),
    opcode(
        0x7B,
        "multimem_load_reduce_view_tko",
        "view index* token?",
        f"{_ORDER} {_SCOPE} {_REDUCTION} {_INBOUNDS}",
        since="13.5",
        results=2,
        counted_results=True,
        flags="memory_scope token",
    ),
    opcode(
        0x7C,
        "multimem_reduce_view_tko",
        "view tile index* token?",
        f"{_ORDER} {_SCOPE} {_REDUCTION} {_INBOUNDS}",
        since="13.5",
        counted_results=True,
        flags="token",
    ),
    opcode(
        0x7D,
        "multimem_store_view_tko",
        "view tile index* token?",
        f"{_ORDER} {_SCOPE} {_INBOUNDS}",
        since="13.5",
        counted_results=True,
        flags="memory_scope token",
    ),
)
# fmt: on

OPCODES: dict[int, Opcode] = {entry.number: entry for entry in _ROWS}
assert len(OPCODES) == len(_ROWS), "an opcode number occurs twice"

# Opcodes of operations that have their own sections; they never occur in a function body.
SECTION_OPCODES = {0x16: "entry", 0x31: "global", 0x4B: "module"}
