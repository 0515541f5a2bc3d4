"""The messages of the Remote Execution API v2 that records are, for protocol buffers to read and write.

Names and field tags are those of remote_execution.proto (github.com/bazelbuild/remote-apis); only the fields that are read or
written are here, others are unknown ones, which a reader passes over. Built when imported, in a pool of its own: a program
that has the whole file registered may use the cache beside it.
"""

from __future__ import annotations

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.message import Message

_PACKAGE = "build.bazel.remote.execution.v2"
_TYPES = {
    "string": FieldDescriptorProto.TYPE_STRING,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
    "int64": FieldDescriptorProto.TYPE_INT64,
}
# Message -> its fields: name, number, type (another message, or of _TYPES), whether there may be several.
_MESSAGES = {
    "Digest": (("hash", 1, "string", False), ("size_bytes", 2, "int64", False)),
    "OutputFile": (("path", 1, "string", False), ("digest", 2, "Digest", False)),
    "ExecutedActionMetadata": (("worker", 1, "string", False),),
    "ActionResult": (
        ("output_files", 2, "OutputFile", True),
        ("stdout_raw", 5, "bytes", False),
        ("execution_metadata", 9, "ExecutedActionMetadata", False),
    ),
}


def _class_of(message: str) -> type[Message]:
    file = FileDescriptorProto(name="remote_execution.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        row = file.message_type.add(name=name)
        for field, number, kind, repeated in fields:
            row.field.add(name=field, number=number, label=_label(repeated), **_type(kind))
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{message}"))


def _label(repeated: bool) -> int:
    return FieldDescriptorProto.LABEL_REPEATED if repeated else FieldDescriptorProto.LABEL_OPTIONAL


def _type(kind: str) -> dict:
    if kind in _TYPES:
        return {"type": _TYPES[kind]}
    return {"type": FieldDescriptorProto.TYPE_MESSAGE, "type_name": f".{_PACKAGE}.{kind}"}


ActionResult = _class_of("ActionResult")
