"""mbarrier arrivals in native code, for distinct mbarriers without faults (``isa/mbarrier.py``)."""

from __future__ import annotations

import numpy as np

from ..isa.mbarrier_state_word import COUNT_BIAS, COUNT_LIMIT
from .native_code import address, kernel

REFUSED, COMPLETED = -1, 1


def arrive_and_expect_tx(
    words: np.ndarray, places: np.ndarray, arrivals: np.ndarray, tx: np.ndarray, drop: bool, before: np.ndarray
) -> int:
    """Add ``arrivals`` and bytes ``tx`` (int64, scalar or per mbarrier) to mbarriers ``places`` (int64) of ``words`` (uint64).

    Writes the old words to ``before``. Returns ``COMPLETED`` if a phase completes, or ``REFUSED``, without any change, if the
    places do not ascend or an mbarrier would exceed its range.
    """
    tables = map(address, (words, places, arrivals, tx, before))
    steps = len(arrivals) > 1, len(tx) > 1
    return kernel("arrive", 11)(*tables, len(places), *steps, drop, COUNT_BIAS, COUNT_LIMIT)


def phases_completed(words: np.ndarray, places: np.ndarray, phase: int) -> bool | None:
    """Whether all mbarriers ``places`` (int64) of ``words`` (uint64) are in a phase other than ``phase``; None if one is invalid."""
    return _PHASE_COMPLETED[
        kernel("phases_differ", 6)(address(words), address(places), len(places), phase, COUNT_BIAS, COUNT_LIMIT)
    ]


_PHASE_COMPLETED = False, True, None
