"""Correct the three header lines of LLVM's PTX: .version, .target, and the manifest comment after them."""

from __future__ import annotations

import re

from ...core.errors import InternalError
from ...manifest.ptx_manifest import manifest_comment
from ...target.isa.serializer_options import DEFAULT_LEVEL, find_level
from ..serialization_target import Serialization

_VERSION = re.compile(r"^\.version (\d+)\.(\d+)", re.MULTILINE)
_TARGET = re.compile(r"^\.target [\w, ]+", re.MULTILINE)
_ADDRESS_SIZE = re.compile(r"^\.address_size (?:64|32)[^\n]*\n", re.MULTILINE)

_NARROW = "e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2"
# Inline assembly that needs a newer PTX version than LLVM prints; determined with ptxas 13.5. (Each begins with a
# literal: a leading \b would make the search ten times slower.)
NEWER: tuple[tuple[tuple[int, int], re.Pattern], ...] = (
    ((9, 2), re.compile(rf"cvt\.rn(?:\.\w+)*\.bf16x2\.(?:{_NARROW})\b")),
    ((9, 1), re.compile(rf"cvt\.rn(?:\.\w+)*\.(?:{_NARROW})\.bf16x2\b")),
    ((9, 1), re.compile(r"cvt\.rn(?:\.\w+)*\.(?:e2m3x2|e3m2x2|e2m1x2)\.f16x2\b")),
)


def fix_header(ptx: str, made_for: Serialization, manifest: dict | None, has_assembly: bool) -> str:
    """PTX with the module's target and version, and the manifest as a comment.

    LLVM does not support every GPU (its CPU name may be that of a similar one), and prints ", debug" for full debug
    info, which makes ptxas disable optimization: only device debugging keeps it.
    """
    size = _ADDRESS_SIZE.search(ptx)
    version = _VERSION.search(ptx)
    if size is None or version is None:
        raise InternalError("ptx-header", "LLVM printed PTX without a header")
    head, body = ptx[: size.end()], ptx[size.end() :]
    needed = max(
        made_for.target.ptx_version, (int(version[1]), int(version[2])), _needed(body) if has_assembly else (0, 0)
    )
    head = _VERSION.sub(f".version {needed[0]}.{needed[1]}", head)
    debug = ", debug" if made_for.debug and ", debug" in head else ""
    head = _TARGET.sub(f".target {made_for.target.arch}{debug}", head)
    return head + _note(manifest, made_for, bool(debug)) + body


def _note(manifest: dict | None, made_for: Serialization, debug: bool) -> str:
    """The manifest, with the level of ptxas if it is not the default."""
    if manifest is None:
        return ""
    level = find_level(made_for.opt_level).ptxas
    more = {} if debug or level == DEFAULT_LEVEL else {"opt_level": level}
    return f"{manifest_comment(manifest | more)}\n"


def _needed(body: str) -> tuple[int, int]:
    return max((version for version, pattern in NEWER if pattern.search(body)), default=(0, 0))
