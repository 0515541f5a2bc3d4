"""Integer operations that NumPy lacks; generated code calls them."""

from __future__ import annotations

import numpy as np

from ..codegen.emit_block import KIND_BITS, UNSIGNED
from ..isa.handler_registry import helper

WIDER = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64", "u8": "u16", "s8": "s16"}
_SIGN_BIT = {8: 0x80, 16: 0x8000, 32: 0x80000000, 64: 1 << 63}


def unsigned(kind: str) -> str:
    return UNSIGNED[KIND_BITS[kind]]


@helper
def udiv(a, b):
    """Unsigned quotient; x / 0 is all ones, like on hardware."""
    zero = b == 0
    if not np.any(zero):
        return a // b
    return np.where(zero, ~np.zeros_like(a), a // np.where(zero, 1, b).astype(a.dtype))


@helper
def sdiv(a, b):
    """Signed quotient, rounded towards zero; x / 0 is -1."""
    u = np.dtype(f"u{a.dtype.itemsize}")
    negative = (a < 0) != (b < 0)
    q = udiv(np.where(a < 0, -a, a).view(u), np.where(b < 0, -b, b).view(u)).view(a.dtype)
    return np.where(b == 0, a.dtype.type(-1), np.where(negative, -q, q))


@helper
def urem(a, b):
    zero = b == 0
    if not np.any(zero):
        return a % b
    return np.where(zero, a, a % np.where(zero, 1, b).astype(a.dtype))


@helper
def srem(a, b):
    return (a - sdiv(a, b) * b) if not np.any(b == 0) else np.where(b == 0, a, a - sdiv(a, b) * b)


@helper
def umulhi64(a, b):
    """High 64 bits of an unsigned 64 x 64 product."""
    mask, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    al, ah, bl, bh = a & mask, a >> shift, b & mask, b >> shift
    low = al * bl
    middle = ah * bl + (low >> shift)
    middle2 = al * bh + (middle & mask)
    return ah * bh + (middle >> shift) + (middle2 >> shift)


@helper
def smulhi64(a, b):
    high = umulhi64(a.view(np.uint64), b.view(np.uint64))
    zero = np.uint64(0)
    high = high - np.where(a < 0, b.view(np.uint64), zero) - np.where(b < 0, a.view(np.uint64), zero)
    return high.view(np.int64)


def mulhi(e, a, b, kind):
    if KIND_BITS[kind] == 64:
        return f"{'smulhi64' if kind[0] == 's' else 'umulhi64'}({a}, {b})"
    wide = WIDER[kind]
    return f"(np.multiply({a}, {b}, dtype={wide}) >> {e.scalar(wide, KIND_BITS[kind])}).astype({kind})"


@helper
def popcount(a):
    return np.bitwise_count(a).astype(np.uint32)


@helper
def leading_zeros(a):
    bits = a.dtype.itemsize * 8
    x = a
    shift = 1
    while shift < bits:
        x = x | (x >> a.dtype.type(shift))
        shift *= 2
    return (bits - np.bitwise_count(x).astype(np.int32)).astype(np.uint32)


@helper
def reverse_bits(a):
    t, bits = a.dtype.type, a.dtype.itemsize * 8
    for shift, mask in ((1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F)):
        m = t(mask & ((1 << bits) - 1))
        a = ((a >> t(shift)) & m) | ((a & m) << t(shift))
    return np.asarray(a).byteswap()[()]


@helper
def find_leading(a, shift_amount):
    """bfind: position of the most significant 1 (of the most significant non-sign bit if signed), or all ones."""
    signed = a.dtype.kind == "i"
    bits = a.dtype.itemsize * 8
    u = a.view(np.dtype(f"u{a.dtype.itemsize}"))
    if signed:
        u = np.where(a < 0, ~u, u)
    zeros = leading_zeros(u)
    result = zeros if shift_amount else np.uint32(bits - 1) - zeros
    return np.where(u == 0, np.uint32(0xFFFFFFFF), result)


@helper
def extract_field(a, position, length, signed):
    """bfe (section 9.7.1.23)."""
    t, bits = a.dtype.type, a.dtype.itemsize * 8
    u = np.dtype(f"u{a.dtype.itemsize}")
    position, length = (position & np.uint32(0xFF)).astype(u), (length & np.uint32(0xFF)).astype(u)
    ua = np.asarray(a).view(u)
    one, width = u.type(1), u.type(bits)
    inside = np.minimum(length, width - np.minimum(position, width))  # bits past the top are copies of the sign
    mask = np.where(inside >= bits, ~u.type(0), (one << inside) - one)
    out = (ua >> position) & mask
    if signed:
        last = np.minimum(position + length - one, width - one)
        sign = np.where(length == 0, u.type(0), (ua >> last) & one)
        out = np.where(sign != 0, out | ~mask, out)
    return np.asarray(out).view(t)[()]


@helper
def insert_field(a, b, position, length):
    """bfi: insert the low bits of a into b."""
    u, bits = a.dtype, a.dtype.itemsize * 8
    position, length = (position & np.uint32(0xFF)).astype(u), (length & np.uint32(0xFF)).astype(u)
    one = u.type(1)
    mask = np.where(length >= bits, ~u.type(0), (one << length) - one) << position
    return (b & ~mask) | ((a << position) & mask)


@helper
def funnel(a, b, amount, left, clamp):
    """shf: shift the 64-bit value b:a."""
    amount = np.minimum(amount, np.uint32(32)) if clamp else amount & np.uint32(31)
    wide = (np.asarray(b).astype(np.uint64) << np.uint64(32)) | np.asarray(a).astype(np.uint64)
    amount = np.asarray(amount).astype(np.uint64)
    if left:
        return ((wide << amount) >> np.uint64(32)).astype(np.uint32)
    return (wide >> amount).astype(np.uint32)


@helper
def permute_bytes(a, b, control, mode):
    """prmt (section 9.7.8.7)."""
    wide = (np.asarray(b).astype(np.uint64) << np.uint64(32)) | np.asarray(a).astype(np.uint64)
    out = np.uint32(0)
    for i in range(4):
        byte = _selected_byte(wide, control, i, mode)
        out = out | (byte.astype(np.uint32) << np.uint32(8 * i))
    return out


_MODES = {
    "f4e": lambda c, i: c + i,
    "b4e": lambda c, i: (c - i) & 7,
    "rc8": lambda c, i: c & 3,
    "ecl": lambda c, i: max(c, i),
    "ecr": lambda c, i: min(c, i),
    "rc16": lambda c, i: (c & 1) * 2 + (i & 1),
}


def _selected_byte(wide, control, i, mode):
    if mode is None:
        nibble = (np.asarray(control) >> np.uint32(4 * i)) & np.uint32(15)
        byte = (wide >> ((nibble & np.uint32(7)).astype(np.uint64) * np.uint64(8))) & np.uint64(0xFF)
        sign = np.where(byte & np.uint64(0x80), np.uint64(0xFF), np.uint64(0))
        return np.where(nibble & np.uint32(8), sign, byte)
    table = np.array([_MODES[mode](c, i) for c in range(4)], np.uint64)
    which = table[(np.asarray(control) & np.uint32(3)).astype(np.int64)]
    return (wide >> (which * np.uint64(8))) & np.uint64(0xFF)


@helper
def permute_constant(a, b, control):
    """prmt with a constant selector in the default mode: shifts of the two sources."""
    out = None
    sources = (a, b)
    for i in range(4):
        nibble = control >> (4 * i) & 15
        source, at = sources[(nibble & 7) >> 2], (nibble & 3) * 8
        if nibble & 8:
            byte = ((source << np.uint32(24 - at)).view(np.int32) >> np.int32(31)).view(np.uint32) & np.uint32(
                0xFF << 8 * i
            )
        else:
            moved = source << np.uint32(8 * i - at) if 8 * i >= at else source >> np.uint32(at - 8 * i)
            byte = moved & np.uint32(0xFF << 8 * i)
        out = byte if out is None else out | byte
    return out


@helper
def logic3(a, b, c, table):
    out = None
    for i in range(8):
        if table >> i & 1:
            term = (a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c)
            out = term if out is None else out | term
    return np.zeros_like(a & b & c) if out is None else out


@helper
def find_nth_set(mask, base, offset):
    """fns: position of the n-th set bit counted from base (section 9.7.1.20)."""
    mask, base, offset = np.broadcast_arrays(mask, base, np.asarray(offset).view(np.int32))
    out = np.full(mask.shape, 0xFFFFFFFF, np.uint32)
    bit = ((mask[..., None] >> np.arange(32, dtype=np.uint32)) & np.uint32(1)).astype(bool)
    position = np.arange(32)
    up = np.cumsum(bit & (position >= base[..., None]), axis=-1)
    down = np.cumsum((bit & (position <= base[..., None]))[..., ::-1], axis=-1)[..., ::-1]
    hit_up = bit & (position >= base[..., None]) & (up == offset[..., None])
    hit_down = bit & (position <= base[..., None]) & (down == -offset[..., None])
    at_base = bit & (position == base[..., None])
    for wanted, hit in ((offset > 0, hit_up), (offset < 0, hit_down), (offset == 0, at_base)):
        found = wanted & hit.any(-1)
        out = np.where(found, hit.argmax(-1).astype(np.uint32), out)
    return out[()]


@helper
def dot_bytes(a, b, c, a_signed, b_signed, half):
    """dp4a (half None) and dp2a (half 0 = .lo, 2 = .hi): sums of byte products."""
    a, b = np.asarray(a), np.asarray(b)
    total = np.asarray(c).view(np.uint32)
    for i in range(4 if half is None else 2):
        y = ((b >> np.uint32(8 * (i + (half or 0)))) & np.uint32(0xFF)).astype(np.uint8)
        if half is None:
            x = ((a >> np.uint32(8 * i)) & np.uint32(0xFF)).astype(np.uint8)
            x = x.view(np.int8) if a_signed else x
        else:
            x = ((a >> np.uint32(16 * i)) & np.uint32(0xFFFF)).astype(np.uint16)
            x = x.view(np.int16) if a_signed else x
        y = y.view(np.int8) if b_signed else y
        total = total + (x.astype(np.int64) * y.astype(np.int64)).astype(np.uint32)
    return total


@helper
def saturating(a, b, subtract):
    wide = a.astype(np.int64) - b if subtract else a.astype(np.int64) + b
    return np.clip(wide, -(1 << 31), (1 << 31) - 1).astype(np.int32)


def _per_half(operation, a, b, kind):
    """Apply to both 16-bit halves of packed words."""
    t = {"u16x2": np.uint16, "s16x2": np.int16}[kind]
    x, y = (np.ascontiguousarray(v)[..., None].view(t) if np.ndim(v) else np.asarray(v)[None].view(t) for v in (a, b))
    return np.ascontiguousarray(operation(x, y)).view(np.uint32)[..., 0]


@helper
def packed_halves(name, a, b, kind):
    operations = {"add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum}
    return _per_half(operations[name], a, b, kind)
