"""Connects to a Dask scheduler, over TLS for a ``tls://`` address; failures are reported in one sentence.

Dask has no passwords and no tokens: both sides of a connection present certificates that the other's CA has signed. Host names
are not verified, so the CA must be the cluster's own.
"""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Iterator
from typing import Any

from ...core.errors import InvalidInput, TileirasError
from .calls_with_deadline import DeadlineCalls
from .tls_certificates import Certificates, tls_error_text

REMEDY = "start one with: dask scheduler; and workers with: dask worker ADDRESS; or build with executor=local"
_TLS = "tls://"
_OPTIONS = "executor_ca=, executor_cert= and executor_key="
_GIVE = f"set {_OPTIONS}, or Dask's configuration (distributed.comm.tls)"
_FIELDS = {"tls_ca_file": "ca", "tls_client_cert": "cert", "tls_client_key": "key"}


def connect(address: str, seconds: float, certificates: Certificates) -> Any:
    """A ``distributed.Client``; missing ``certificates`` come from Dask's configuration.

    Raises InvalidInput: executor-missing (Dask is not installed), executor-unreachable, executor-tls.
    """
    try:
        import distributed
    except ImportError:
        remedy = "pip install 'tileiras-build[cluster]'"
        raise InvalidInput("executor-missing", f"executor={address} needs Dask", remedy=remedy) from None
    # Its own log messages about lost connections repeat the diagnostics.
    for name in ("distributed", "distributed.client", "distributed.core", "distributed.comm"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    security = _security(address, certificates)
    if security is not None:
        _shake_hands(address, security, seconds)
    options = {"security": security, "set_as_default": False, "name": "tileiras-build"}
    try:
        # Dask waits forever for a server that accepts the connection and sends nothing.
        return DeadlineCalls().run(lambda: distributed.Client(address, timeout=seconds, **options), seconds + 1)
    except Exception as error:
        raise _why(address, error) from None


def _security(address: str, certificates: Certificates) -> Any:
    from distributed import Security

    given = {field: getattr(certificates, name) for field, name in _FIELDS.items() if getattr(certificates, name)}
    if not address.startswith(_TLS):
        if given:
            raise _tls(f"certificates were given, but {address} is not a {_TLS} address", f"use {_TLS}")
        return None
    # The key of Dask's configuration does not belong to this certificate.
    given |= {"tls_client_key": None} if certificates.cert and not certificates.key else {}
    security = Security(require_encryption=True, **given)
    used = Certificates(*(str(getattr(security, field) or "") for field in _FIELDS))
    if not (used.ca and used.cert):
        raise _tls(f"executor={address} requires a CA certificate and a client certificate", _GIVE)
    try:
        used.check()
    except OSError as error:
        files = ", ".join(filter(None, (used.ca, used.cert, used.key)))
        raise _tls(f"the certificates for {address} cannot be used: {tls_error_text(error)} ({files})", _GIVE) from None
    return security


def _shake_hands(address: str, security: Any, seconds: float) -> None:
    """Raise executor-tls if the handshake fails: Dask retries until its timeout, and may then not know the reason."""
    host, _, port = address.removeprefix(_TLS).rpartition(":")
    context = security.get_connection_args("client")["ssl_context"]
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=seconds) as plain:
            with context.wrap_socket(plain, server_hostname=host.strip("[]")) as encrypted:
                encrypted.recv(1)  # the scheduler reports a rejected certificate after the handshake
    except ssl.SSLError as error:
        raise _handshake_error(address, error) from None
    except (OSError, ValueError):
        return  # no response yet: the client waits, and reports it


def _handshake_error(address: str, error: ssl.SSLError) -> TileirasError:
    if isinstance(error, ssl.SSLCertVerificationError):
        return _tls(f"certificate verification failed for scheduler {address}: {tls_error_text(error)}", _GIVE)
    if error.reason == "WRONG_VERSION_NUMBER":
        return _tls(f"the scheduler at {address} does not speak TLS", "use tcp://, or start it with certificates")
    return _tls(f"scheduler {address} rejected the client certificate", _GIVE)


def _why(address: str, error: Exception) -> TileirasError:
    """The remedy for ``error``."""
    broken = next((cause for cause in _chain(error) if isinstance(cause, ssl.SSLError)), None)
    if broken is not None:
        return _handshake_error(address, broken)
    if type(error).__name__ == "CommClosedError":
        if address.startswith(_TLS):
            return _tls(f"scheduler {address} rejected the client certificate", _GIVE)
        return _tls(f"scheduler {address} requires TLS", f"use {_TLS}, and {_GIVE}")
    return InvalidInput("executor-unreachable", f"no Dask scheduler at {address}", remedy=REMEDY)


def _tls(message: str, remedy: str) -> InvalidInput:
    return InvalidInput("executor-tls", message, remedy=remedy)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
