"""Certificates for TLS, files in PEM: tried before a library takes them, and what OpenSSL says of them in words."""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass

_PLACE = re.compile(r"\s*\(_ssl\.c:\d+\)|^\[[^]]*\]\s*")


@dataclass(frozen=True)
class Certificates:
    """Paths: who vouches for the other side, what this side shows, and the key of that; "" = not given.

    The key may lie in the file of its certificate.
    """

    ca: str = ""
    cert: str = ""
    key: str = ""

    def check(self) -> None:
        """Read the files; raises OSError (``ssl.SSLError`` is one) where they cannot be used."""
        context = ssl.create_default_context(cafile=self.ca or None)
        if self.cert:
            # OpenSSL asks the terminal for the password of a key, and waits, unless somebody answers for the user.
            context.load_cert_chain(self.cert, self.key or None, password=_refuse)


NO_CERTIFICATES = Certificates()


def _refuse() -> str:
    raise OSError("the private key is encrypted (passwords are not supported)")


def tls_error_text(error: BaseException) -> str:
    """OpenSSL's or the system's sentence, without its codes and places."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return _PLACE.sub("", str(text))
