"""A kernel with all kinds of assumptions, as a manifest describes it: the base of invalid launches."""

from tileiras_build.manifest.launch_manifest import Launch, convert
from tileiras_build.manifest.manifest_constants import VERSION


def pointer(name, argument, element, **more):
    return {
        "name": name,
        "kind": "pointer",
        "size": 8,
        "role": "pointer",
        "argument": argument,
        "element": element,
    } | more


def index(name, argument, role, axis, **more):
    return {"name": name, "kind": "i32", "size": 4, "role": role, "argument": argument, "axis": axis} | more


def array(name, argument, element, rank, assumptions=None, **more):
    """The parameters of an array; ``promises`` by (role, axis)."""
    assumptions = {("stride", rank - 1): {"value": 1}} | (assumptions or {})
    rows = [pointer(name, argument, element, divisible_by=16, **more)]
    for role in ("shape", "stride"):
        for axis in range(rank):
            rows.append(index(f"{name}_{role}_{axis}", argument, role, axis, **assumptions.get((role, axis), {})))
    return rows


def scalar(name, argument, kind, size, **more):
    return {"name": name, "kind": kind, "size": size, "argument": argument} | more


def placed(rows):
    offset = 0
    for row in rows:
        offset = -(-offset // row["size"]) * row["size"]
        yield row | {"offset": offset}
        offset += row["size"]


def launch_of(arguments, rows) -> Launch:
    """A kernel's row of a manifest; ``arguments`` are (name, kind, rank)."""
    param, made = 0, []
    for name, kind, rank in arguments:
        made.append({"name": name, "kind": kind, "param": param} | ({} if rank is None else {"rank": rank}))
        param += 1 if rank is None else 1 + 2 * rank
    return convert({"threads_per_cta": 128, "params": list(placed(rows)), "arguments": made}, Launch, VERSION)


# a is read, b is read and in units of 8, out is written; n counts in eights; p is an address of its own.
KERNEL = launch_of(
    [("a", "array", 2), ("b", "array", 1), ("out", "array", 2), ("n", "scalar", None), ("eps", "scalar", None),
     ("p", "pointer", None), ("flag", "scalar", None)],
    [*array("a", 0, "f16", 2, {("stride", 0): {"divisible_by": 8, "minimum": 0}}, access="loaded"),
     *array("b", 1, "bf16", 1, {("shape", 0): {"divisible_by": 8}}, access="loaded"),
     *array("out", 2, "f32", 2, access="stored"), scalar("n", 3, "i32", 4, divisible_by=8, minimum=8, maximum=4096),
     scalar("eps", 4, "f32", 4), pointer("p", 5, "i64", divisible_by=8, access="updated"), scalar("flag", 6, "i1", 1)],
)  # fmt: skip
