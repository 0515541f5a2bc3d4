"""Attributes of other modules that fakes replace temporarily."""

from __future__ import annotations

from typing import Any


class PatchedAttributes:
    """Replaced attributes, which ``restore`` resets."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Replace ``owner.name`` by ``value``."""
        own = vars(owner).get(name)  # not getattr, which binds the methods of a class
        self._before.append((owner, name, getattr(owner, name, None) if own is None else own))
        setattr(owner, name, value)

    def restore(self) -> None:
        """Restore all attributes."""
        for owner, name, value in reversed(self._before):
            setattr(owner, name, value)
        self._before.clear()
