"""The record of a build: lanes, what is kept, and the Chrome trace."""

import threading

import pytest

from tileiras_build.errors import InvalidInput
from tileiras_build.reports.timeline import (
    CACHED,
    Recorder,
    Span,
    Timeline,
    chrome_trace,
    read_timeline,
    write_timeline,
)

SPANS = [Span("ptx", "sm_90", "a", 1, 0.5, 0.75), Span("ll", "sm_90", "a", 0, 0.25, 0.5, CACHED)]


def test_each_thread_has_a_lane_and_times_come_from_the_clock():
    times = iter([10.0, 10.5, 11.0, 12.0])
    recorder = Recorder(clock=lambda: next(times), wall=lambda: 1e9)
    recorder.add("ll", "sm_90", "a", recorder.now())
    thread = threading.Thread(target=recorder.add, args=("ptx", "sm_90", "a", 1.0))
    thread.start()
    thread.join()
    assert recorder.timeline.spans == [Span("ll", "sm_90", "a", 0, 0.5, 1.0), Span("ptx", "sm_90", "a", 1, 1.0, 2.0)]
    assert recorder.timeline.seconds == 1.5


def test_timeline_survives_its_file(tmp_path):
    timeline = Timeline(1e9, 8, SPANS)
    write_timeline(timeline, tmp_path / "new/timeline.json")
    assert read_timeline(tmp_path / "new/timeline.json") == timeline
    assert read_timeline(tmp_path / "absent.json") is None


@pytest.mark.parametrize("text", ["", "[]", '{"version": 2}', '{"version": 1, "start": 0, "jobs": 1, "spans": [[1]]}'])
def test_damaged_timeline_is_named(tmp_path, text):
    path = tmp_path / "timeline.json"
    path.write_text(text)
    with pytest.raises(InvalidInput, match="not the timeline of a build") as caught:
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
