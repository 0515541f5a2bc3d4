"""The forms of tcgen05.mma: kinds, instruction descriptors, shapes and block scales."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from ..ptx.ast import Address, Immediate
from . import tcgen05_sparsity_metadata
from .tcgen05_addresses_and_issuers import is_pair

_SMALL = {0: "e4m3", 1: "e5m2", 3: "e2m3", 4: "e3m2", 5: "e2m1"}


@dataclass(frozen=True)
class MmaKind:
    """Tables 42 to 44: ``types`` and ``results`` by their code in the descriptor; ``bits`` of an element of A and B."""

    types: dict
    results: dict
    k: int
    scales: tuple = ()  # scale vector sizes, the default first
    allows_negate: bool = True
    allows_transpose: bool = True
    scale_types: dict | None = None
    ids: tuple = (0,)


MMA_KINDS = {
    "f16": MmaKind({0: "f16", 1: "bf16"}, {0: "f16", 1: "f32"}, 16),
    "tf32": MmaKind({2: "tf32"}, {1: "f32"}, 8),
    "f8f6f4": MmaKind(_SMALL, {0: "f16", 1: "f32"}, 32),
    "i8": MmaKind({0: "u8", 1: "s8"}, {2: "s32"}, 32, allows_negate=False),
    "mxf8f6f4": MmaKind(_SMALL, {}, 32, scales=(1,), scale_types={1: "ue8m0"}, ids=(0, 1, 2, 3)),
    "mxf4": MmaKind({1: "e2m1"}, {}, 64, scales=(2,), allows_transpose=False, scale_types={1: "ue8m0"}, ids=(0, 2)),
    "mxf4nvf4": MmaKind({1: "e2m1"}, {}, 64, scales=(None, 2, 4), allows_transpose=False, scale_types={0: "ue4m3", 1: "ue8m0"},
                     ids=(0, 2)),
}  # fmt: skip


PADDED_TO_8_BITS = {"e2m3", "e3m2", "e2m1"}  # 16 elements and padding fill 16 bytes of shared memory


@dataclass(frozen=True)
class MmaForm:
    """The static form of a tcgen05.mma instruction."""

    ins: object
    kind: str
    cta_pair: bool
    weight_stationary: bool
    scale: int  # scale factors per row of A and column of B, 0 without block scaling
    a_in_tensor_memory: bool
    shift: int  # scale-input-d
    sparse: bool
    matrices: dict = field(
        default_factory=dict, compare=False, repr=False
    )  # caches of shared memory operands and of whole MMAs


@dataclass(frozen=True)
class InstructionDescriptor:
    """A decoded instruction descriptor."""

    m: int
    n: int
    k: int  # elements in 32 bytes of a row of A: K for a dense A
    a: str
    b: str
    d: str
    negative: tuple
    transposed: tuple  # A, B are MN-major
    saturate: bool
    scale_type: str | None
    scale_ids: tuple
    selector: int | None  # of metadata, with a sparse A

    @property
    def depth(self) -> int:
        """The bytes of a row of B, in units of 32."""
        return 1 if self.selector is None else 2


class DescriptorError(Exception):
    """An invalid descriptor."""


def lookup(table: dict, code: int, what: str):
    if code not in table:
        raise DescriptorError(f"invalid {what} {code} in the instruction descriptor for this kind")
    return table[code]


@lru_cache(maxsize=1024)
def read_instruction(
    descriptor: int, kind: str, pair: bool, stationary: bool, scale: int, sparse: bool
) -> InstructionDescriptor | str:
    """The fields of an instruction descriptor, or an error message."""
    try:
        return _read(descriptor, kind, pair, stationary, scale, sparse)
    except DescriptorError as wrong:
        return f"{wrong} ({descriptor:#010x})"


def _read(descriptor: int, name: str, pair: bool, stationary: bool, scale: int, sparse: bool) -> InstructionDescriptor:
    kind, scaled = MMA_KINDS[name], bool(scale)
    packed = kind.k == 64
    if bool(descriptor >> 2 & 1) != sparse:
        raise DescriptorError(
            f"the instruction descriptor has a {'dense' if sparse else 'sparse'} A, unlike the instruction"
        )
    reserved = (0x0700004B | (1 << 12) * packed) if scaled else 0x20800040
    if descriptor & reserved:
        raise DescriptorError("reserved bits of the instruction descriptor must be 0")
    if scaled and descriptor >> 31 & 1:
        raise DescriptorError("K = 96 is not supported")
    if not scaled and descriptor >> 30 and not stationary:
        raise DescriptorError("a maximum shift in the instruction descriptor is for .ws only")
    turned = (bool(descriptor >> 15 & 1), bool(descriptor >> 16 & 1))
    negative = (bool(descriptor >> 13 & 1), bool(descriptor >> 14 & 1))
    if any(turned) and not kind.allows_transpose or any(negative) and not kind.allows_negate:
        raise DescriptorError("this kind has no transposed or negated operands")
    m = (descriptor >> 27 & 3) << 7 if scaled else (descriptor >> 24 & 31) << 4
    n = (descriptor >> 17 & 63) << 3
    a = lookup(kind.types, descriptor >> 7 & 7, "type of A")
    b = lookup(kind.types, descriptor >> 10 & (3 if packed else 7), "type of B")
    check_shape(name, pair, stationary, scaled, m, n, turned, (a, b))
    if sparse and (wrong := tcgen05_sparsity_metadata.unsupported_shape(m, n, pair, stationary, scaled)):
        raise DescriptorError(wrong)
    d = "f32" if scaled else lookup(kind.results, descriptor >> 4 & 3, "type of D")
    saturates = bool(descriptor >> 3 & 1) and not scaled
    if saturates and name != "i8":
        raise DescriptorError("only integer kinds saturate")
    factors = read_scales(kind, descriptor, scale) if scaled else (None, (0, 0))
    selector = (0 if scaled else descriptor & 3) if sparse else None
    return InstructionDescriptor(m, n, kind.k, a, b, d, negative, turned, saturates, *factors, selector)


def read_scales(kind: MmaKind, descriptor: int, scale: int):
    type_ = lookup(kind.scale_types, descriptor >> 23 & 1, "scale type")
    if type_ == "ue4m3" and scale != 4:
        raise DescriptorError("scale factors of type ue4m3 need scale_vec::4X")
    ids = (descriptor >> 29 & 3, descriptor >> 4 & 3)
    allowed = (0,) if scale == 4 else kind.ids
    if any(i not in allowed for i in ids):
        raise DescriptorError(f"the scale factor ids must be in {allowed}")
    return type_, ids


def check_shape(name, pair, stationary, scaled, m, n, transposed, types):
    """Tables 39 and 50."""
    rows = (32, 64, 128) if stationary else (128, 256) if pair else (128,) if scaled else (64, 128)
    step = 16 if pair else 8
    if name == "i8":
        step = 32 if pair else 8 if n <= 32 else 16
    if transposed[1] and any(t in ("e4m3", "e5m2", "u8", "s8") for t in types):
        step = 32 if pair else 16
    columns = n in (64, 128, 256) if stationary else n % step == 0 and step <= n <= 256
    if m not in rows or not columns:
        raise DescriptorError(f"unsupported shape M = {m}, N = {n} for this form")


def scale_count(e, ins, kind: str) -> int:
    """Scale factors per row: .scale_vec::NX, or .block16 / .block32 for the K of the kind."""
    allowed = MMA_KINDS[kind].scales
    for mod in ins.mods:
        found = re.fullmatch(r"scale_vec::(\d)X|block(16|32)", mod)
        if found:
            count = int(found[1]) if found[1] else MMA_KINDS[kind].k // int(found[2])
            return count if count in allowed else e.fail("invalid scale vector size for this kind")
    return allowed[0] or e.fail("the scale vector size is missing")


def read_form(e, ins) -> MmaForm:
    kind = next((m.split("::")[1] for m in ins.mods if m.startswith("kind::")), None)
    scaled = "block_scale" in ins.mods
    if kind not in MMA_KINDS or scaled != bool(MMA_KINDS[kind].scales):
        e.fail("unsupported kind")
    if "ashift" in ins.mods:
        e.fail("shifted forms are not supported")
    stationary, sparse = "ws" in ins.mods, "sp" in ins.mods
    if stationary and (scaled or is_pair(ins)):
        e.fail("unsupported .ws form")
    rest = ins.args[5 if sparse else 4 :]
    shift = 0
    if not stationary and len(rest) > 1 and isinstance(rest[-1], Immediate) and not scaled:
        shift = rest[-1].value
        if kind not in ("f16", "tf32") or not 0 <= shift <= 15:
            e.fail("scale-input-d must be 0 to 15, for kinds f16 and tf32")
    count = scale_count(e, ins, kind) if scaled else 0
    return MmaForm(ins, kind, is_pair(ins), stationary, count, isinstance(ins.args[1], Address), shift, sparse)
