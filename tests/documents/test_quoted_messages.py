"""Messages that documents quote are those that users see; tests/documents/test_tutorial.py compares the tutorial's."""

from pathlib import Path

import pytest

from tests.documents.test_document_words import ROOT
from tests.launch.runtime.test_invalid_launches import KERNEL, kernel_of, right
from tests.launch.runtime.test_select_image import image
from tileiras_build.core.errors import TileirasError
from tileiras_build.core.symbols import check_symbol_names
from tileiras_build.core.tracing.dependency_record import Comparison, DependencyRecord
from tileiras_build.core.tracing.dependency_state import Probe
from tileiras_build.core.tracing.portable_paths import PortablePaths
from tileiras_build.launch.runtime.select_image import require_image
from tileiras_build.reports.build_diff import summary


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


def test_a_gpu_without_an_image():
    with pytest.raises(TileirasError) as caught:
        require_image("matmul_f16", [image("sm_90a")], 100)
    assert str(caught.value) in page("packages.md")


def test_a_stride_that_was_assumed():
    wide = right()["out"].repeat(4, axis=1)[:, ::4]
    with pytest.raises(TileirasError) as caught:
        kernel_of(KERNEL).launch((4,), *(right() | {"out": wide}).values())
    said = str(caught.value).replace("kernel k:", "kernel matmul_f16:").replace("of out is", "of a is")
    assert said in page("packages.md")


def test_a_name_that_is_no_identifier():
    message, _, remedy = str(check_symbol_names.name_error(check_symbol_names.KERNEL, "a b")).partition(", not")
    assert remedy and message in page("sources.md")


def test_a_file_that_cannot_be_traced():
    record = DependencyRecord((), untraced_actions=("it runs a program",))
    assert f"k.py: {Comparison(Probe(PortablePaths(str(Path.cwd())))).first_change(record)}\n" in page("building.md")


def test_what_watch_prints():
    lines = page("command-line.md")
    source = (ROOT / "tileiras_build/build/watch/watch_session.py").read_text()
    assert summary({}, {}, False).replace("0 changed", "2 changed") in lines
    assert all(
        text in lines and text in source for text in ("watching for changes; Ctrl-C to quit", "build succeeded in ")
    )
