"""Unique names in one scope of C, C++ or Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, count


def unique_names(
    names: Iterable[str],
    taken: Iterable[str] = (),
    forms: Sequence[str] = ("{}",),
    spelled: Callable[[str], str] = str,
) -> dict[str, str]:
    """Each name -> its unique name in a scope that already contains ``taken``.

    A scope may use several ``forms`` of one name ("try_{}"), all of which must be free. ``spelled`` converts a name to
    the language's syntax. A free name is unchanged; any other gets an underscore or a number as a suffix.
    """
    used, made = set(taken), dict[str, str]()
    for name in sorted(set(names), key=lambda name: (spelled(name) != name or name in used, len(name), name)):
        word = next(word for word in _candidates(spelled(name)) if used.isdisjoint(_expand_form(forms, word)))
        made[name] = word
        used.update(_expand_form(forms, word))
    return made


def _expand_form(forms: Iterable[str], word: str) -> Iterator[str]:
    return (form.format(word) for form in forms)


def _candidates(word: str) -> Iterator[str]:
    stem = word.rstrip("_")
    return chain([word, f"{stem}_"], (f"{stem}_{number}" for number in count(2)))
