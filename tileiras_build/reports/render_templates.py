"""Renders the HTML pages with Jinja2, which escapes kernel names and sources."""

from __future__ import annotations

import base64
import gzip
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

_FOLDER = Path(__file__).parent
PAGE, KERNEL, KERNEL_PAGE = "page.html", "kernel.html", "kernel_page.html"
_SCRIPTS = {
    PAGE: ("shared.js", "syntax.js", "kernel.js", "page.js", "timeline.js"),
    KERNEL_PAGE: ("shared.js", "syntax.js", "kernel.js"),
    KERNEL: (),
}


@cache
def _environment() -> Environment:
    # An undefined name in a template is an error.
    made = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return made


def render(template: str, **values: object) -> str:
    """A rendered template, with its scripts and style sheet inlined."""
    script = "".join(map(_read, _SCRIPTS[template]))
    return _environment().get_template(template).render(css=Markup(_read("page.css")), script=Markup(script), **values)


def pack(text: str) -> str:
    """``text`` as a gzip stream in base64, which the page's script decodes."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def unpack(packed: str) -> Markup:
    """The packed text, marked as safe HTML."""
    return Markup(gzip.decompress(base64.b64decode(packed)).decode())


def template_text(template: str) -> str:
    """The source of a template."""
    return _read(template)


@cache
def _read(name: str) -> str:
    return (_FOLDER / name).read_text()
