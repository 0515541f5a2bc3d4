"""The reference pages name every builder with its parameters, every option with its default, every strategy and every promise."""

import inspect
import re
from dataclasses import fields

from tests.documents.test_document_words import ROOT
from tileiras_build.build.kernel_library import GraphBuilder
from tileiras_build.build.kernel_package import PackageBuilder
from tileiras_build.config.build_options import OPTIONS
from tileiras_build.core.error_index.explanations import explanations
from tileiras_build.frontend.kernel_case import Array
from tileiras_build.pipeline.pipelining_strategies import NAMES
from tileiras_build.pipeline.stages import STAGES

BUILD = (ROOT / "docs/build-reference.md").read_text()
FAST = (ROOT / "docs/fast-kernels.md").read_text()


def rows(page: str, title: str) -> list[tuple[str, ...]]:
    """The rows of the first table below a title, without its head."""
    section = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    table = re.findall(r"^\|(.*)\|$", section, re.MULTILINE)[2:]
    return [tuple(cell.strip() for cell in row.split(" | ")) for row in table]


def names(page: str, title: str) -> list[str]:
    return [row[0].strip("`") for row in rows(page, title)]


def parameters(method: object) -> list[inspect.Parameter]:
    """Those that an SConstruct passes."""
    return list(inspect.signature(method).parameters.values())[2:]


def test_every_option_and_its_default():
    assert [(name, default.strip("`")) for name, default, _ in rows(BUILD, "Options")] == [
        (f"`{row.name}`", row.default) for row in OPTIONS
    ]


def test_builders_and_their_parameters():
    for name, method in (("KernelLibrary", GraphBuilder.add_library), ("KernelPackage", PackageBuilder.add)):
        given = parameters(method)
        assert names(BUILD, name) == [one.name for one in given]
        written = ", ".join(
            one.name if one.default is inspect.Parameter.empty else f"{one.name}={one.default}" for one in given
        )
        assert f"`env.{name}({written})`" in BUILD
    assert "`env.TileCpp(sources)`" in BUILD
    assert all(f"`env.{stage.name.capitalize()}`" in BUILD for stage in STAGES[1:])


def test_every_strategy():
    assert names(BUILD, "Strategies") == list(NAMES)


def test_every_promise_of_an_array():
    promised = {re.sub(r"=.*", "", name) for name in names(FAST, "Promise what holds")}
    assert promised == {field.name for field in fields(Array)} - {"dtype", "ndim"}


def test_every_remark_that_asks_for_something_has_a_remedy():
    named = set(re.findall(r"`(Remark\w+)`", FAST))
    assert named == {
        row.id
        for row in explanations().values()
        if row.id.startswith("Remark") and not row.fix.startswith("Nothing to do")
    }
