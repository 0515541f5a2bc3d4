"""The ActionResult records: written as protocol buffers lay them down, and no damage is believed."""

import hashlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileiras_build.workers.executor.cache.action_result import (
    BLOB_LIMIT,
    DamagedRecord,
    Digest,
    _seal,
    decode,
    encode,
)

KEY = "ab" * 32
FILES = {".cubin": Digest.of(b"machine code"), ".json": Digest.of(b"{}")}
characters = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/\\")
names = st.text(characters, min_size=1, max_size=20).filter(lambda name: name not in (".", ".."))
digests = st.binary(max_size=300).map(Digest.of)
# ExecutedActionMetadata is field 9: a server may add to it, and write the fields in another order.
FOREIGN = bytes([4 << 3, 0]) + bytes([9 << 3 | 2, 3, 2 << 3 | 2, 1, 65]) + bytes([10 << 3 | 5, 1, 2, 3, 4])


def _varint(value: int) -> bytes:
    """A number in the wire format: seven bits a byte, the low ones first."""
    return bytes([value & 0x7F | 0x80]) + _varint(value >> 7) if value > 0x7F else bytes([value])


def _field(number: int, payload: bytes) -> bytes:
    """A field that has a length."""
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


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


def test_records_are_the_bytes_that_they_always_were():
    """Caches live longer than versions of this package."""
    known = "7087b8e9d9def1a4b42f6f894362c0a556427ef9c775188fbef3f09109c3fb5a"
    assert hashlib.sha256(encode(KEY, FILES)).hexdigest() == known


def test_empty_file_may_lack_its_size():
    """Protocol buffers leave out a zero, but need not: earlier versions of this package wrote it."""
    files = {".ptx": Digest.of(b"")}
    digest = _field(1, files[".ptx"].hash.encode())
    for said in (digest, digest + b"\x10\x00"):
        assert decode(KEY, _record(_field(1, b".ptx") + _field(2, said), sealed=files)) == files
    assert len(encode(KEY, files)) == len(_record(_field(1, b".ptx") + _field(2, digest), sealed=files)) + 18


@given(st.integers(0), st.integers(1, 255))
def test_no_changed_byte_is_believed(position, change):
    data = bytearray(encode(KEY, FILES))
    data[position % len(data)] ^= change
    try:
        files = decode(KEY, bytes(data))
    except DamagedRecord:
        return
    assert files == FILES


@given(st.integers(0, len(encode(KEY, FILES)) - 1))
def test_no_shortened_record_is_believed(length):
    try:
        files = decode(KEY, encode(KEY, FILES)[:length])
    except DamagedRecord:
        return
    assert files == FILES


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


def _whole(fields: list[tuple[int, object]]) -> bytes:
    return _message(*fields)


def _message(*fields: tuple[int, object]) -> bytes:
    """A message of fields (number, bytes or a number), in the wire format."""
    return b"".join(
        _field(number, value) if isinstance(value, bytes) else _varint(number << 3) + _varint(value)
        for number, value in fields
    )


def _record(*files: bytes, key: str = KEY, sealed: dict | None = None) -> bytes:
    """A record with a right seal over ``sealed`` around whatever ``files`` are."""
    return b"".join(_field(2, file) for file in files) + _field(5, _seal(key, FILES if sealed is None else sealed))


NAME, HASH = (1, b".ll"), (1, b"c" * 64)
WRONG_FIELDS = {
    "a number for the list of files": _message((2, 7)),
    "a number for a name": _record(_message((1, 7), (2, _message(HASH, (2, 3))))),
    "a number for a digest": _record(_message(NAME, (2, 7))),
    "a number for a hash": _record(_message(NAME, (2, _message((1, 7), (2, 3))))),
    "bytes for a size": _record(_message(NAME, (2, _message(HASH, (2, b"3"))))),
    "no name": _record(_message((2, _message(HASH, (2, 3))))),
    "no digest": _record(_message(NAME)),
    "no hash": _record(_message(NAME, (2, _message((2, 3))))),
    "a name that is no text": _record(_message((1, b"\xff"), (2, _message(HASH, (2, 3))))),
    "a hash that is no text": _record(_message(NAME, (2, _message((1, b"\xff" * 64), (2, 3))))),
    "a hash in other digits": _record(_message(NAME, (2, _message((1, "\u0663".encode() * 64), (2, 3))))),
    "a size of more than 64 bits": _record(_message(NAME, (2, _message(HASH) + bytes([2 << 3] + [0xFF] * 10 + [1])))),
    "a size that no artifact has": _record(_message(NAME, (2, _message(HASH, (2, BLOB_LIMIT + 1))))),
    "a size below zero": _record(
        _message(NAME, (2, _message(HASH, (2, (1 << 64) - 1)))), sealed={".ll": Digest("c" * 64, -1)}
    ),
    "a number for the seal": _message((5, 7)),
    "a group": bytes([2 << 3 | 3]),
    "a length beyond the end": bytes([2 << 3 | 2, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F]),
}


@pytest.mark.parametrize("case", WRONG_FIELDS)
def test_every_wrong_field_is_damage(case):
    with pytest.raises(DamagedRecord):
        decode(KEY, WRONG_FIELDS[case])


@pytest.mark.parametrize("name", ["", ".", "..", "/etc/passwd", "../k.cubin", "a/b", "a\\b", "a\nb", "a\0b"])
def test_name_that_is_no_file_name_is_damage(name):
    """Such a record is made on purpose: its seal is right."""
    with pytest.raises(DamagedRecord, match="not an ActionResult"):
        decode(KEY, encode(KEY, {name: Digest.of(b"")}))


def test_file_that_is_listed_twice_is_damage():
    one, other = (_message(NAME, (2, _message((1, letter * 64), (2, 3)))) for letter in (b"c", b"d"))
    sealed = {".ll": Digest("d" * 64, 3)}
    assert decode(KEY, _record(other, sealed=sealed)) == sealed
    with pytest.raises(DamagedRecord, match="listed twice"):
        decode(KEY, _record(one, other, sealed=sealed))


@given(
    st.recursive(
        st.binary(max_size=70) | st.integers(0, 1 << 40),
        lambda inner: st.lists(st.tuples(st.integers(1, 9), inner), max_size=4).map(_whole),
        max_leaves=8,
    )
)
def test_messages_of_any_shape_are_read_or_damaged(value):
    data = value if isinstance(value, bytes) else _message((2, value))
    for record in (data, _field(2, data)):
        with suppress(DamagedRecord):
            decode(KEY, record)
