"""The messages of the Remote Execution API v2 that records use, for protocol buffers.

Names and field tags are those of remote_execution.proto (github.com/bazelbuild/remote-apis). Only the fields that are read or
written are declared; readers ignore others. The messages are built on import, in their own descriptor pool, so a program that
has registered the whole file may use the cache, too.
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
# Message -> its fields: name, tag, type (another message, or of _TYPES), whether it is repeated.
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
