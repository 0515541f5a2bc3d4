"""examples/bazel: the rule's actions, run without Bazel: its file is Python, too, with stand-ins for Starlark's built-ins."""

from pathlib import Path
from types import SimpleNamespace

from tileiras_build.cli.dispatch import main

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "bazel"


class Attributes:
    """``attr``: each kind of attribute is its default."""

    def __getattr__(self, kind):
        return lambda **fields: fields.get("default", [] if kind.endswith("list") else "")


class Actions:
    """``ctx.actions``, which records the actions."""

    def __init__(self):
        self.made = []

    def declare_directory(self, path):
        return SimpleNamespace(path=f"bazel-out/{path}")

    def run(self, **action):
        self.made.append(action)


def load_rule() -> SimpleNamespace:
    """The rule of the example, as ``rule`` gets it."""
    names = {
        "rule": lambda **fields: SimpleNamespace(**fields),
        "attr": Attributes(),
        "depset": lambda files=(), transitive=(): [*files, *(file for one in transitive for file in one)],
        "DefaultInfo": lambda **fields: SimpleNamespace(**fields),
    }
    exec((FOLDER / "tileiras.bzl").read_text(), names)
    return names["tileiras_kernels"]


def targets_of_build_file() -> list[dict]:
    found: list[dict] = []
    names = {"load": lambda *_: None, "tileiras_kernels": lambda **fields: found.append(fields)}
    exec((FOLDER / "BUILD.bazel").read_text(), names)
    return found


def test_the_actions_of_the_example_compile_its_kernel(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rule, [given] = load_rule(), targets_of_build_file()
    assert given.keys() - {"name"} <= rule.attrs.keys()
    files = {
        name: [SimpleNamespace(path=str(FOLDER / one), basename=one) for one in given[name]]
        for name in ("srcs", "data")
    }
    actions = Actions()
    context = SimpleNamespace(
        actions=actions,
        attr=SimpleNamespace(**{**rule.attrs, **given}),
        files=SimpleNamespace(**files),
        label=SimpleNamespace(name=given["name"]),
        runfiles=lambda files: files,
    )
    [info] = rule.implementation(context)
    [action] = actions.made
    assert action["executable"] == "tileiras-build" and action["outputs"] == info.files
    assert [Path(file.path).name for file in action["inputs"]] == ["scale.py", "sizes.py"]
    assert main([*action["arguments"], "--in-process"]) == 0
    made = sorted(path.name for path in Path(action["outputs"][0].path).iterdir())
    assert made == [f"scale.{sm}.{suffix}" for sm in ("sm_100", "sm_90") for suffix in ("cubin", "json")]
