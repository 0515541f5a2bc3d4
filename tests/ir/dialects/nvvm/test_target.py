"""#nvvm.target in MLIR's text form."""

import pytest
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from tileiras_build.ir.dialects.nvvm.target import TargetAttr
from tileiras_build.pipeline.opt import context


def parse(text: str):
    return Parser(context(), text).parse_attribute()


def test_fields_that_are_left_out_are_mlirs_defaults():
    target = parse("#nvvm.target")
    assert (target.level.data, target.triple.data, target.chip.data) == (2, "nvptx64-nvidia-cuda", "sm_75")
    assert target.features.data == "+ptx60" and not target.links and target.options() == []


def test_round_trip():
    text = (
        '#nvvm.target<O = 3, triple = "nvptx64-nvidia-cuda", chip = "sm_90a", features = "+ptx80", '
        'flags = {"-Xopt", "-fma" = 0 : i64, fast}, link = ["a.bc"]>'
    )
    target = parse(text)
    assert str(target) == text and parse(str(target)) == target and target.links
    assert target.options() == ["-Xopt", "-fma=0", "fast"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("#nvvm.target<O = 4>", "between 0 and 3"),
        ('#nvvm.target<chip = "">', "cannot be empty"),
        ('#nvvm.target<features = "ptx80">', r"must begin with \+ or -"),
        ("#nvvm.target<level = 3>", "no field level"),
    ],
)
def test_malformed_targets_are_refused(text, reason):
    with pytest.raises((ParseError, VerifyException), match=reason):
        parse(text)


def test_made_from_plain_values():
    target = TargetAttr.of(1, "sm_80", {})
    assert str(target) == '#nvvm.target<O = 1, triple = "nvptx64-nvidia-cuda", chip = "sm_80", features = "">'
