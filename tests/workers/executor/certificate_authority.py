"""Certificates for tests: authorities that sign for 127.0.0.1, each with files of its own."""

from pathlib import Path

from tileiras_build.workers.executor.tls_certificates import Certificates


class Authority:
    """Signs; ``folder`` is made, and gets the files."""

    def __init__(self, folder: Path):
        import trustme  # with all that it needs a second, where tests are only collected

        folder.mkdir(parents=True)
        self.folder, self._authority = folder, trustme.CA()
        self.ca = str(folder / "ca.pem")
        self._authority.cert_pem.write_to_path(self.ca)

    def sign(self, name: str = "node") -> Certificates:
        """A certificate with its key in one file."""
        path = str(self.folder / f"{name}.pem")
        self._authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(path)
        return Certificates(self.ca, path)
