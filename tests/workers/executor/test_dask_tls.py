"""Clusters with TLS: the same results, and one sentence for each kind of invalid certificates."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.build.test_build_session import Project
from tests.workers.executor.certificate_authority import Authority
from tests.workers.executor.dask_cluster import cluster
from tests.workers.executor.test_dask_cluster import LOWER, arguments, connect
from tileiras_build.core.errors import InvalidInput
from tileiras_build.driver import lower
from tileiras_build.workers.executor.tls_certificates import Certificates


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority") / "own")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """Signed by somebody else."""
    return Authority(tmp_path_factory.mktemp("authority") / "other").sign()


@pytest.fixture(scope="module")
def node(authority):
    return authority.sign()


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory, node):
    with cluster(tmp_path_factory.mktemp("dask"), node) as made:
        made.add_worker()
        yield made


def test_build_over_tls_gives_the_bytes_of_a_local_one(encrypted, authority, tmp_path):
    """Paths of options are those of the project's top folder."""
    project = Project(tmp_path)
    mine = authority.sign("mine")
    for name, path in (("ca", mine.ca), ("mine", mine.cert)):
        project.write(f"{name}.pem", Path(path).read_text())
    options = [f"executor={encrypted.address}", "executor_ca=ca.pem", "executor_cert=mine.pem"]
    assert encrypted.address.startswith("tls://")
    done = project.run(*options, sm="90")
    assert done.returncode == 0, done.stderr
    assert "11 steps on 1 worker" in done.stdout


def test_certificates_may_come_from_the_configuration_of_dask(encrypted, node):
    import dask

    settings = {"distributed.comm.tls.ca-file": node.ca, "distributed.comm.tls.client.cert": node.cert}
    with dask.config.set(settings), connect(encrypted) as executor:
        assert executor.run(LOWER, *arguments()) == lower(*arguments())


def test_certificates_that_do_not_fit_get_one_sentence(encrypted, node, stranger, tmp_path):
    (tmp_path / "text").write_text("no certificate")
    locked = tmp_path / "locked.pem"
    locked.write_text(LOCKED)
    cases = {
        "certificate verification failed for scheduler": replace(stranger, cert=node.cert),
        "rejected the client certificate; set executor_ca=": replace(node, cert=stranger.cert),
        "requires a CA certificate and a client certificate; set executor_ca=": Certificates(),
        "cannot be used: No such file or directory": replace(node, cert=str(tmp_path / "absent")),
        "cannot be used: no certificate or crl found": replace(node, ca=str(tmp_path / "text")),
        "cannot be used: key values mismatch": replace(node, key=stranger.cert),
        "cannot be used: the private key is encrypted": replace(node, key=str(locked)),
    }
    for sentence, certificates in cases.items():
        with pytest.raises(InvalidInput) as caught:
            connect(encrypted, certificates=certificates)
        assert caught.value.id == "executor-tls"
        assert sentence in str(caught.value), str(caught.value)


def test_address_of_the_other_kind_gets_one_sentence(encrypted, node, tmp_path):
    class Elsewhere:
        address = encrypted.address.replace("tls://", "tcp://")

    with pytest.raises(InvalidInput, match="requires TLS; use tls://"):
        connect(Elsewhere)
    with pytest.raises(InvalidInput, match="certificates were given, but tcp://.* is not a tls:// address; use tls://"):
        connect(Elsewhere, certificates=node)
    with cluster(tmp_path) as plain:
        Elsewhere.address = plain.address.replace("tcp://", "tls://")
        with pytest.raises(InvalidInput, match="does not speak TLS; use tcp://, or start it with certificates"):
            connect(Elsewhere, certificates=node)


# openssl ecparam -name prime256v1 -genkey | openssl ec -aes128 -passout pass:secret
LOCKED = """-----BEGIN EC PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-128-CBC,13B4DE8C1BFB1851636ECC33CAE6F0DF

BA7VpVFz3D5s8Igv5WHzLGFOPGFkmzsbYk1p6i1miPPMAFFMIQaKvDfY9xW7uJ1+
DPNPU2g5U35vTx/WhSgGl2rWwwKQlPpiLkP/d67XqlawNSN+yV5w+b+PNp0hLkGo
ZGgGVSLVTctcCWCxaPM/97c1aTEy2Xv8G4dQa6aXVKs=
-----END EC PRIVATE KEY-----
"""
