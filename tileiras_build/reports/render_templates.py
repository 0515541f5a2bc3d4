"""The pages' text: Jinja2 fills their templates and escapes what comes from kernels, whose names and sources may hold anything."""

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
    PAGE: ("shared.js", "kernel.js", "page.js", "timeline.js"),
    KERNEL_PAGE: ("shared.js", "kernel.js"),
    KERNEL: (),
}


@cache
def _environment() -> Environment:
    # A name that a template misspells is an error.
    made = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return made


def render(template: str, **values: object) -> str:
    """The text of one of the templates, with its scripts and the style sheet in it."""
    script = "".join(map(_read, _SCRIPTS[template]))
    return _environment().get_template(template).render(css=Markup(_read("page.css")), script=Markup(script), **values)


def pack(text: str) -> str:
    """``text`` as a gzip stream in base64, which the page's script opens."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def unpack(packed: str) -> Markup:
    """The text that was packed, which a template does not escape again."""
    return Markup(gzip.decompress(base64.b64decode(packed)).decode())


def template_text(template: str) -> str:
    """A template as it is."""
    return _read(template)


@cache
def _read(name: str) -> str:
    return (_FOLDER / name).read_text()
