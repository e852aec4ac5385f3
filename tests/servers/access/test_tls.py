"""Encrypted daemons, as processes and over real sockets: who believes whom, and what is wrong with certificates."""

import shutil
import ssl
import subprocess
import sys

import grpc
import pytest

from plyd.clients import EngineClient
from plyd.clients.library.channel import Credentials
from plyd.clients.library.errors import NotAllowed, Unavailable
from plyd.servers.access import tls
from plyd.servers.settings import BadSetting
from plyd.v1 import engine_pb2
from tests.patience import until
from tests.servers.certificates import make_authority, make_certificate, openssl
from tests.servers.daemons import Caller

OPENING = "b 2 2 0 0 0 0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    make_authority(folder)
    make_authority(folder, "other")
    make_certificate(folder, "server", "plyd")
    make_certificate(folder, "gui", "gui@example")
    make_certificate(folder, "stranger", "gui@example", "other")
    openssl(folder, "ec", "-in", "server.key", "-aes128", "-passout", "pass:secret", "-out", "locked.key")
    return folder


def client(address, folder, **shown):
    credentials = Credentials(ca=str(folder / "ca.pem"), **{k: str(folder / v) for k, v in shown.items()})
    return EngineClient(f"tls:{address}", retry_seconds=0, credentials=credentials)


@pytest.fixture
def encrypted(serve, folder):
    """Starts an encrypted daemon with these further options; where it answers."""

    def start(*options):
        words = ("--tls-certificate", folder / "server.pem", "--tls-key", folder / "server.key", *options)
        process = serve("--listen", "127.0.0.1:0", *map(str, words))
        return process.addresses()[0]

    return start


def test_an_encrypted_daemon_answers_who_believes_its_authority(encrypted, folder):
    address = encrypted()
    with client(address, folder) as engine:
        assert engine.search(OPENING).move == "right"
        with engine.play(OPENING) as game:
            assert game.best(nodes=1).move == "right"
    with (
        EngineClient(f"tls:{address}", retry_seconds=0, credentials=Credentials()) as engine,
        pytest.raises(Unavailable),
    ):
        engine.describe()  # the system's authorities do not know it
    with Caller(address) as caller, pytest.raises(grpc.RpcError) as caught:
        caller.engine.Describe(engine_pb2.DescribeRequest(), timeout=5)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


def test_every_command_finds_its_way_by_the_environment(encrypted, folder, monkeypatch):
    address = encrypted()
    monkeypatch.setenv("PLYD_CA", str(folder / "ca.pem"))
    command = [sys.executable, "-m", "plyd.clients"]
    solved = subprocess.run(
        [*command, "solve", "--connect", f"tls:{address}"],
        input=f"{OPENING}\n",
        text=True,
        capture_output=True,
        check=True,
    )
    assert solved.stdout == "= 1422.339261\n"
    health = subprocess.run([*command, "health", f"tls:{address}"], text=True, capture_output=True)
    assert health.stdout == "SERVING\n"


def test_mutual_tls_lets_in_who_has_a_certificate_of_the_authority(encrypted, folder):
    address = encrypted("--tls-client-ca", folder / "ca.pem")
    with client(address, folder, certificate="gui.pem", key="gui.key") as engine:
        assert engine.search(OPENING).move == "right"
    for shown in ({}, {"certificate": "stranger.pem", "key": "stranger.key"}):
        with client(address, folder, **shown) as engine, pytest.raises(Unavailable):
            engine.describe()


def test_a_certificate_s_name_is_a_client(encrypted, folder, tmp_path):
    clients = tmp_path / "clients.toml"
    clients.write_text('[[client]]\nname = "gui"\ncommon_name = "gui@example"\n')
    address = encrypted("--tls-client-ca", folder / "ca.pem", "--clients", clients)
    with client(address, folder, certificate="gui.pem", key="gui.key") as engine:
        assert engine.search(OPENING).move == "right"
    with client(address, folder, certificate="server.pem", key="server.key") as engine, pytest.raises(NotAllowed):
        engine.describe()


def test_a_unix_socket_beside_it_is_plain(encrypted, folder, tmp_path, serve):
    words = ["--tls-certificate", str(folder / "server.pem"), "--tls-key", str(folder / "server.key")]
    process = serve("--listen", f"unix:{tmp_path}/s", *words)
    [address] = process.addresses()
    with EngineClient(address) as engine:
        assert engine.search(OPENING).move == "right"


@pytest.mark.parametrize(
    ("certificate", "key", "authority", "message"),
    [
        ("server.pem", None, None, "tls.certificate is set without tls.key; TLS needs both"),
        (None, "server.key", None, "tls.key is set without tls.certificate"),
        (None, None, "ca.pem", "tls.client_ca is set without"),
        ("none.pem", "server.key", None, 'cannot read tls.certificate ".*none.pem": No such file'),
        ("server.pem", "gui.key", None, 'tls.key ".*gui.key" does not belong to tls.certificate'),
        ("server.pem", "locked.key", None, 'tls.key ".*locked.key" has a passphrase'),
        ("server.ext", "server.key", None, "are not a certificate and its key in PEM form"),
        ("server.pem", "server.key", "server.ext", 'tls.client_ca ".*server.ext" has no certificate'),
    ],
)
def test_bad_certificates(folder, certificate, key, authority, message):
    paths = [None if name is None else folder / name for name in (certificate, key, authority)]
    with pytest.raises(BadSetting, match=message):
        tls.credentials(*paths)


def told_certificate(address, folder):
    """What the daemon shows who connects now."""
    host, port = address.rsplit(":", 1)
    return ssl.get_server_certificate((host, int(port)), ca_certs=str(folder / "ca.pem"), timeout=10)


def test_a_new_certificate_is_shown_to_whoever_connects_and_the_others_stay(serve, folder, tmp_path):
    for suffix in ("pem", "key"):
        shutil.copy(folder / f"server.{suffix}", tmp_path / f"it.{suffix}")
    words = ("--tls-certificate", str(tmp_path / "it.pem"), "--tls-key", str(tmp_path / "it.key"))
    process = serve("--listen", "127.0.0.1:0", *words)
    [address] = process.addresses()
    with client(address, folder) as engine, engine.play(OPENING) as game:
        first = told_certificate(address, folder)
        assert first.split() == (folder / "server.pem").read_text().split()

        shutil.copy(folder / "gui.pem", tmp_path / "it.pem")  # its key is not there yet
        assert told_certificate(address, folder) == first
        until(lambda: "the new certificate is not valid, the old one stays in use: tls.key" in process.said())

        shutil.copy(folder / "gui.key", tmp_path / "it.key")
        assert told_certificate(address, folder).split() == (folder / "gui.pem").read_text().split()
        with client(address, folder) as newcomer:
            assert newcomer.search(OPENING).move == "right"
        assert game.best(nodes=1).move == "right"

        (tmp_path / "it.key").unlink()
        assert told_certificate(address, folder).split() == (folder / "gui.pem").read_text().split()
        until(lambda: "the new certificate is not valid, the old one stays in use: cannot read" in process.said())


def test_other_machines_are_let_in_by_tls(serve, folder):
    words = ["--tls-certificate", str(folder / "server.pem"), "--tls-key", str(folder / "server.key")]
    process = serve("--listen", "0.0.0.0:0", *words)
    port = process.addresses()[0].rpartition(":")[2]
    with client(f"127.0.0.1:{port}", folder) as engine:
        assert engine.search(OPENING).move == "right"
