"""The timeline of a build: lanes, the stored file, and the Chrome trace."""

import threading

import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.reports.build_timeline import (
    CACHED,
    Recorder,
    Span,
    Timeline,
    chrome_trace,
    read_timeline,
    write_timeline,
)

SPANS = [Span("ptx", "sm_90", "a", 1, 0.5, 0.75), Span("ll", "sm_90", "a", 0, 0.25, 0.5, CACHED)]


def test_a_step_has_the_first_free_lane_and_times_come_from_the_clock():
    times = iter([10.0, 10.5, 10.75, 11.0, 11.5, 12.0, 13.0])
    recorder = Recorder(clock=lambda: next(times), wall=lambda: 1e9)
    first, second = recorder.begin(2), recorder.begin(2)
    recorder.end(first, "ll", "sm_90", "a")
    third = recorder.begin(2)
    recorder.end(third, "ptx", "sm_90", "a")
    recorder.end(second, "ll", "sm_90", "b")
    assert recorder.timeline.spans == [
        Span("ll", "sm_90", "a", 0, 0.5, 1.0), Span("ptx", "sm_90", "a", 0, 1.5, 2.0), Span("ll", "sm_90", "b", 1, 0.75, 3.0)
    ]  # fmt: skip
    assert recorder.timeline.seconds == 2.5


def test_a_step_too_many_waits_for_a_lane():
    recorder, ended = Recorder(), threading.Event()
    first = recorder.begin(1)

    def another() -> None:
        recorder.end(recorder.begin(1), "ptx", "sm_90", "a")
        ended.set()

    thread = threading.Thread(target=another)
    thread.start()
    assert not ended.is_set()
    recorder.end(first, "ll", "sm_90", "a")
    thread.join()
    before, after = recorder.timeline.spans
    assert (before.stage, before.lane, after.stage, after.lane) == ("ll", 0, "ptx", 0) and before.end <= after.start


def test_what_a_cache_had_waits_for_nobody():
    recorder = Recorder()
    recorder.begin(2)
    recorder.add_cached(2, "ll", "sm_90", "a")
    (span,) = recorder.timeline.spans
    assert (span.lane, span.outcome, span.seconds) == (1, CACHED, 0.0)
    recorder.begin(2)
    recorder.add_cached(2, "ll", "sm_90", "b")


def test_timeline_survives_its_file(tmp_path):
    timeline = Timeline(1e9, 8, SPANS)
    write_timeline(timeline, tmp_path / "new/timeline.json")
    assert read_timeline(tmp_path / "new/timeline.json") == timeline
    assert read_timeline(tmp_path / "absent.json") is None


ROW = '{"version": 1, "start": 0, "jobs": 1, "spans": [["ll", "", "k", %s, "built"]]}'
DAMAGED = [
    "", "[]", '{"version": 2}', '{"version": 1, "start": 0, "jobs": 1, "spans": [[1]]}', "[" * 100_000,
    '{"version": 1, "start": 1e300, "jobs": 1, "spans": []}', '{"version": 1, "start": 0, "jobs": -1, "spans": []}',
    ROW % "0, null, 1", ROW % "0, 2, 1", ROW % "-1, 0, 1", ROW % "18446744073709551616, 0, 1", ROW % "0, 0, 1e400",
]  # fmt: skip


@pytest.mark.parametrize("text", DAMAGED, ids=range(len(DAMAGED)))
def test_damaged_timeline_is_named(tmp_path, text):
    path = tmp_path / "timeline.json"
    path.write_text(text)
    with pytest.raises(InvalidInput, match="corrupt timeline file") as caught:
        read_timeline(path)
    assert str(path) in str(caught.value)


def test_trace_has_one_complete_event_for_each_span():
    events = chrome_trace(SPANS)["traceEvents"]
    assert [event["args"]["name"] for event in events if event["ph"] == "M"] == ["lane 0", "lane 1"]
    complete = [event for event in events if event["ph"] == "X"]
    assert [(event["name"], event["tid"], event["ts"], event["dur"]) for event in complete] == [
        ("ll a", 0, 250_000, 250_000), ("ptx a", 1, 500_000, 250_000)
    ]  # fmt: skip
    assert complete[0]["args"] == {"kernel": "a", "target": "sm_90", "outcome": "cached"}
