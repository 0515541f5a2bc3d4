"""Attributes of other people's modules that stand-ins replace for a while."""

from __future__ import annotations

from typing import Any


class PatchedAttributes:
    """Attributes of modules that have been replaced, to be put back."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Put ``value`` in the place of ``owner.name``."""
        own = vars(owner).get(name)  # as it stands there: getattr binds the methods of a class
        self._before.append((owner, name, getattr(owner, name, None) if own is None else own))
        setattr(owner, name, value)

    def restore(self) -> None:
        """Put everything back."""
        for owner, name, value in reversed(self._before):
            setattr(owner, name, value)
        self._before.clear()
