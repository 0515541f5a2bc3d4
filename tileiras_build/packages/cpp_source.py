"""C++17 for a library: a header over the C one, with arrays that have types and a library that closes itself (``launcher.hpp``)."""

from __future__ import annotations

from pathlib import Path

from ..launch_manifest import Argument
from ..manifest_words import STORED, UPDATED
from ..runtime.library_manifest import LibraryManifest
from .c_source import KEYWORDS, NOTE, SCALAR_TYPES, Call, calls_of, fill, member_name, struct_name

# The kind of each element in launcher.hpp; what has none there is bytes.
_KINDS = {name: name for name in ("i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64")} | {
    "tf32": "f32", "f8E4M3FN": "f8", "f8E5M2": "f8", "f8E8M0FNU": "f8",
}  # fmt: skip


def render_cpp_header(manifest: LibraryManifest) -> str:
    """``<name>.hpp``."""
    functions = "\n\n".join(_functions(manifest.name, call) for call in calls_of(manifest))
    return NOTE + fill((Path(__file__).parent / "launcher.hpp").read_text(), manifest, functions=functions)


def _functions(library: str, call: Call) -> str:
    """The two launches of a kernel: one that gives a status, and one that throws it."""
    names = [member_name(argument) for argument in call.arguments]
    given = "".join(f", {_type(library, call, argument)} {name}" for argument, name in zip(call.arguments, names))
    head = f"(::{library}::grid launch_grid_, CUstream launch_stream_{given}) const"
    lines = [
        f"    /* {call.title} */",
        f"    [[nodiscard]] ::{library}::status try_{call.name}{head}",
        "    {",
    ]
    lines += [f"        {struct_name(library, call)} launch_arguments_{{}};"]
    lines += [
        f"        launch_arguments_.{name} = {_value(library, argument, name)};"
        for argument, name in zip(call.arguments, names)
    ]
    lines += [
        f"        return ::{library}::status(\n            {library}_launch_{call.name}(handle_, launch_grid_, launch_stream_, &launch_arguments_));",
        "    }",
    ]
    passed = ", ".join(["launch_grid_", "launch_stream_", *names])
    lines += [f"#ifndef {library.upper()}_NO_EXCEPTIONS"]
    lines += [f"    void {member_of(call)}{head} {{ ::{library}::require(try_{call.name}({passed})); }}", "#endif"]
    return "\n".join(lines)


_TAKEN = ("open", "open_file", "open_embedded", "load_all", "get", "opened", "library", "status", "require")


def member_of(call: Call) -> str:
    """The name of a kernel's function where the class has others of its own, and C++ its words."""
    return f"{call.name}_" if call.name in _TAKEN or call.name in KEYWORDS else call.name


def _type(library: str, call: Call, argument: Argument) -> str:
    first = call.of(argument)[0]
    kind = f"::{library}::kind::{_KINDS.get(first.element or '', 'bits')}"
    written = "true" if first.access in (STORED, UPDATED) else "false"
    if argument.kind == "array":
        return f"const ::{library}::array<{kind}, {argument.rank}, {written}> &"
    return f"::{library}::pointer<{kind}, {written}>" if argument.kind == "pointer" else SCALAR_TYPES[first.kind]


def _value(library: str, argument: Argument, name: str) -> str:
    values = {"array": f"{name}.as<{library}_tensor_{argument.rank}>()", "pointer": f"{name}.value", "scalar": name}
    return values[argument.kind]
