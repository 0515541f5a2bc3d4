"""The calls by which workers run people's kernel files: they import nothing of SCons, which each fork would have to carry."""

from __future__ import annotations

from .stages import Stage, load

EXPORT_CALL, NAMES_CALL = f"{__name__}:export_named", f"{__name__}:list_names"
NAMES = "names"


def export_named(stage: Stage, path: str, names: tuple[str, ...], root: str) -> dict[str, bytes]:
    """The bytecode of the kernels ``names`` of a Python file; "k.sm_90" is the kernel k with what was chosen for sm_90."""
    made = load(stage.edge)(path, source_root=root)
    tuned: dict[str, list[str]] = {}
    for name in names:
        kernel, _, sm = name.partition(".")
        if sm and kernel in made:
            tuned.setdefault(sm, []).append(kernel)
    for sm, kernels in tuned.items():
        of = load(stage.edge)(path, kernels, sm, source_root=root)
        made |= {f"{kernel}.{sm}": data for kernel, data in of.items()}
    # The step reports what is missing.
    return {name: made[name] for name in names if name in made}


def list_names(path: str) -> dict[str, bytes]:
    """The names of a Python file's kernels, one a line."""
    from ..frontend.export_cutile import list_cases

    return {NAMES: "\n".join(list_cases(path)).encode()}
