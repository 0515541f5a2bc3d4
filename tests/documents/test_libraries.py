"""docs/architecture.md has a row for every distribution that the project asks for, with the license that its metadata declares."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FOR_DEVELOPERS = ("dev", "docs")
EXTRAS = {name: asked for name, asked in PROJECT["optional-dependencies"].items() if name not in FOR_DEVELOPERS}
ROW = re.compile(r"\| `([\w-]+)`(?: \(`(\w+)`\))? \| (.*?) \|")
SECTION = (ROOT / "docs/architecture.md").read_text().partition("\n## Third-party libraries\n")[2]
ROWS = [match.groups() for match in map(ROW.match, SECTION.splitlines()) if match]
# What metadata calls a license, in the words of the page.
SAID = {
    "LicenseRef-NVIDIA-Proprietary": "NVIDIA's own",
    "Apache License v2.0 with LLVM Exceptions": "Apache-2.0 WITH LLVM-exception",
    "3-Clause BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
}


def distributions(asked: list[str]) -> list[str]:
    return [re.match(r"[\w-]+", text)[0] for text in asked]


def test_every_dependency_has_a_row():
    expected = [(name, None) for name in distributions(PROJECT["dependencies"])]
    expected += [(name, extra) for extra, asked in EXTRAS.items() for name in distributions(asked)]
    assert sorted((name, extra or "") for name, extra, _ in ROWS) == sorted(
        (name, extra or "") for name, extra in expected
    )


@pytest.mark.parametrize(("name", "said"), [(name, said) for name, _, said in ROWS], ids=lambda text: text)
def test_license_is_what_the_distribution_declares(name, said):
    try:
        declared = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        pytest.skip(f"{name} is not installed")
    classes = [line for line in declared.get_all("Classifier", []) if line.startswith("License")]
    license = declared.get("License-Expression") or declared.get("License") or classes[0]
    assert said.removesuffix(" and others") == SAID.get(license, license) or license.startswith(
        said.removesuffix(" and others")
    )
