"""PEM files for TLS: checked before a library uses them, with OpenSSL's errors in words."""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass

_PLACE = re.compile(r"\s*\(_ssl\.c:\d+\)|^\[[^]]*\]\s*")


@dataclass(frozen=True)
class Certificates:
    """Paths: the CA certificates, this side's certificate, and its private key; "" = not set.

    The key may be in the file of its certificate.
    """

    ca: str = ""
    cert: str = ""
    key: str = ""

    def check(self) -> None:
        """Read the files; raises OSError (``ssl.SSLError`` is one) if they cannot be used."""
        context = ssl.create_default_context(cafile=self.ca or None)
        if self.cert:
            # Without a password callback OpenSSL asks the terminal for the password of a key, and blocks.
            context.load_cert_chain(self.cert, self.key or None, password=_refuse)


NO_CERTIFICATES = Certificates()


def _refuse() -> str:
    raise OSError("the private key is encrypted (passwords are not supported)")


def tls_error_text(error: BaseException) -> str:
    """OpenSSL's or the system's message, without its codes and locations."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return _PLACE.sub("", str(text))
