"""Schedule files: what they may hold, and where a refusal says that something is wrong."""

import json

import pytest

from tileiras_build.core.errors import InvalidInput, Location, Unsupported
from tileiras_build.pipeline.schedule.schedule import KNOBS, Schedule
from tileiras_build.pipeline.schedule.schedule_file import (
    parse_schedule,
    read_schedule,
    refusal,
    with_file_name,
)

FULL = """{
  "kernel": "matmul",
  "target": "sm_90",
  "schedule": {
    "num_stages": 3,
    "mma": ["wgmma", "mma_sync"],
    "rotate": false
  },
  "candidates": {}
}
"""


def test_a_file_has_the_knobs_and_where_they_come_from():
    assert parse_schedule(FULL) == Schedule(num_stages=3, mma=("wgmma", "mma_sync"), rotate=False)
    assert parse_schedule("") == parse_schedule('{"schedule": {}}') == Schedule()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"schedule": {"num_stages": 3,}}', "1:31: error[schedule-file]: not JSON"),
        ("[" * 100_000, "error[schedule-file]: not JSON"),
        ("[]", 'error[schedule-file]: not an object with an object "schedule"'),
        ('{"schedule": 3}', 'error[schedule-file]: not an object with an object "schedule"'),
        ('{"schedule": {},\n"kernels": "k"}', "2:1: error[schedule-file]: unknown key 'kernels'; did you mean kernel?"),
        ('{"schedule": {\n  "stages": 3}}', "2:3: error[schedule-file]: unknown knob 'stages'"),
        ('{"schedule": {"num_stages": "3"}}', '1:15: error[schedule-file]: num_stages = "3" is not a positive integer'),
        (
            '{"schedule": {"num_stages": true}}',
            "num_stages = true is not a positive integer; num_stages: stages of",
        ),
        ('{"schedule": {"num_stages": 0}}', "num_stages = 0 is not a positive integer"),
        ('{"schedule": {"num_stages": 1e9}}', "num_stages = 1000000000.0 is not a positive integer"),
        ('{"schedule": {"num_stages": 99999999}}', "num_stages = 99999999 is not a positive integer"),
        ('{"schedule": {"rotate": 1}}', "rotate = 1 is not true or false"),
        ('{"schedule": {"mma": "wgmma"}}', 'mma = "wgmma" is not a list'),
        ('{"schedule": {"mma": [1]}}', "mma = [1] is not a string"),
        ('{"schedule": {"num_stages": [3]}}', "num_stages = [3] is not a positive integer"),
        ('{"schedule": {"num_warps": 3}}', "num_warps = 3 is not one of 1, 2, 4, 8, 16"),
    ],
)
def test_what_is_no_schedule_is_refused(text, sentence):
    with pytest.raises(InvalidInput) as refused:
        parse_schedule(text)
    assert refused.value.id == "schedule-file" and sentence in str(refused.value)


def test_a_file_is_text_of_something(tmp_path):
    path = tmp_path / "k.json"
    for data, sentence in ((b"\xff\xfe", "not UTF-8 text"), (b" \n", "the file is empty")):
        path.write_bytes(data)
        with pytest.raises(InvalidInput, match=sentence):
            read_schedule(str(path))
    path.write_text(FULL)
    assert read_schedule(str(path)) == FULL


def test_a_refusal_names_the_line_of_its_knob():
    error = refusal(FULL, "mma", ("wgmma", "mma_sync"), "there is one dot", "one value")
    assert str(with_file_name(error, "k.json")) == (
        'k.json:6:5: error[schedule-refused]: mma = ["wgmma", "mma_sync"] is refused: there is one dot; one value'
    )
    other = Unsupported("mma-no-row", "no instruction", location=Location("k.py", 3, 1))
    assert with_file_name(other, "k.json") is other


def test_knobs_describe_themselves():
    for row in KNOBS:
        assert row.help and row.needs and row.kind in (int, bool, str)
        value = list(row.values[:1]) or [row.kind(1)]
        text = json.dumps({"schedule": {row.name: value if row.many else value[0]}})
        assert len(parse_schedule(text).chosen) == 1
