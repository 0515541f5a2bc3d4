"""The ActionResult records: written as protocol buffers lay them down, and no damage is believed."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tileiras_build.executor.cache.action_result import DamagedRecord, Digest, decode, encode

KEY = "ab" * 32
FILES = {".cubin": Digest.of(b"machine code"), ".json": Digest.of(b"{}")}
names = st.text(min_size=1, max_size=20)
digests = st.binary(max_size=300).map(Digest.of)
# ExecutedActionMetadata is field 9: a server may add to it, and write the fields in another order.
FOREIGN = bytes([4 << 3, 0]) + bytes([9 << 3 | 2, 3, 2 << 3 | 2, 1, 65]) + bytes([10 << 3 | 5, 1, 2, 3, 4])


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(names, digests, max_size=5))
def test_record_says_what_was_written(files):
    assert decode(KEY, encode(KEY, files)) == files


def test_bytes_are_those_of_the_wire_format():
    """Tag = number << 3 | 2 for what has a length; a size above 127 takes two bytes, low bits first."""
    data = encode(KEY, {".ll": Digest("c" * 64, 300)})
    digest = b"\x0a\x40" + b"c" * 64 + b"\x10\xac\x02"
    file = b"\x0a\x03.ll" + b"\x12" + bytes([len(digest)]) + digest
    assert data.startswith(b"\x12" + bytes([len(file)]) + file + b"\x2a")
    assert data.endswith(b"\x4a\x10\x0a\x0etileiras-build")


def test_fields_that_a_server_adds_are_skipped():
    assert decode(KEY, FOREIGN + encode(KEY, FILES) + FOREIGN) == FILES


def test_empty_file_may_lack_its_size():
    """Protocol buffers leave out a zero: a server that writes the record anew does so too."""
    files = {".ptx": Digest.of(b"")}
    data = encode(KEY, files)
    file = data[: 2 + data[1]]
    shorter = file[:-2].replace(bytes([0x12, 68]), bytes([0x12, 66]))
    shorter = shorter[:1] + bytes([file[1] - 2]) + shorter[2:]
    assert decode(KEY, shorter + data[len(file) :]) == files


@settings(deadline=None)
@given(st.integers(0), st.integers(1, 255))
def test_no_changed_byte_is_believed(position, change):
    data = bytearray(encode(KEY, FILES))
    data[position % len(data)] ^= change
    try:
        files = decode(KEY, bytes(data))
    except DamagedRecord:
        return
    assert files == FILES


@settings(deadline=None)
@given(st.integers(0, len(encode(KEY, FILES)) - 1))
def test_no_shortened_record_is_believed(length):
    try:
        files = decode(KEY, encode(KEY, FILES)[:length])
    except DamagedRecord:
        return
    assert files == FILES


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_refused(data):
    with pytest.raises(DamagedRecord):
        decode(KEY, data)


def test_record_of_another_key_is_refused():
    with pytest.raises(DamagedRecord, match="key"):
        decode(KEY, encode("cd" * 32, FILES))


@pytest.mark.parametrize("digest", [Digest("../../etc/passwd", 3), Digest("C" * 64, 3), Digest("c" * 64, 1 << 40)])
def test_what_is_no_digest_is_refused(digest):
    """Such a record is made on purpose: its seal is right."""
    with pytest.raises(DamagedRecord, match="not an ActionResult"):
        decode(KEY, encode(KEY, {".ll": digest}))
