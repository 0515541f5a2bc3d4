"""The table that a benchmark prints: plain text, or Markdown for the documents."""

from __future__ import annotations

from tileiras_build.core.terminal import table_text


def result_table(header: tuple[str, ...], rows: list[tuple[str, ...]], markdown: bool) -> str:
    """``rows`` under ``header``."""
    if not markdown:
        return table_text(header, rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, ("---",) * len(header), *rows))
