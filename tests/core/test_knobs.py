"""Environment variables: values are checked, the defaults are valid."""

import os
import tempfile

import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.core.knobs import CHECK, DEBUG, DUMP, KNOBS, dump_folder


@pytest.mark.parametrize(("text", "value"), [("", 0), ("0", 0), ("6", 6)])
def test_value_is_read(text, value):
    assert DEBUG.read({"TILEIRAS_DEBUG": text}) == value


@pytest.mark.parametrize("text", ["8", "-1", "yes", "1.5"])
def test_wrong_value_names_the_valid_ones(text):
    with pytest.raises(InvalidInput, match=f"TILEIRAS_CHECK={text} is not a valid value; use one of 0, 1, 2"):
        CHECK.read({"TILEIRAS_CHECK": text})


def test_unset_knobs_have_their_defaults():
    assert [knob.read({}) for knob in KNOBS] == [knob.default for knob in KNOBS]


def test_dump_folder_is_the_knob(monkeypatch, tmp_path):
    monkeypatch.setenv(DUMP.name, str(tmp_path))
    assert dump_folder() == tmp_path
    monkeypatch.delenv(DUMP.name)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert dump_folder() == tmp_path / f"tileiras-{os.geteuid()}/dump"
