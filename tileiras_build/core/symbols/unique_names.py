"""Names of one scope, as C, C++ and Python have them: each stands for one thing, whatever the names are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, count


def unique_names(
    names: Iterable[str],
    taken: Iterable[str] = (),
    forms: Sequence[str] = ("{}",),
    spelled: Callable[[str], str] = str,
) -> dict[str, str]:
    """Each name -> what it is called in a scope that holds ``taken`` already.

    A scope may call one thing by several ``forms`` ("try_{}"), all of which are free then. ``spelled`` says how the language
    writes a name. A name that the scope can have stays; another gets an underscore behind it, or a number.
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
