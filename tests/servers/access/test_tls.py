"""Encrypted daemons over real sockets: who believes whom, and what is wrong with certificates."""

import shutil
import ssl
import subprocess
import sys

import grpc
import pytest
from click.testing import CliRunner

from plyd.clients import EngineClient
from plyd.clients.cli import main
from plyd.clients.library.channel import Credentials
from plyd.clients.library.errors import NotAllowed, Unavailable
from plyd.servers.access import tls
from plyd.servers.access.auth import Authenticator
from plyd.servers.daemon_config import read_addresses
from plyd.servers.settings import BadSetting, gather
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
def encrypted(open_daemon, shared_fibonacci, folder):
    """Opens an encrypted daemon; where it answers."""

    def start(certificate=folder / "server.pem", key=folder / "server.key", *, authority=None, clients=None, **more):
        credentials = tls.credentials(certificate, key, authority)
        auth = Authenticator(clients)
        return open_daemon(shared_fibonacci.engine, credentials=credentials, auth=auth, **more).target

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


def test_every_command_finds_its_way_by_the_environment(serve, folder, monkeypatch):
    words = ("--tls-certificate", folder / "server.pem", "--tls-key", folder / "server.key")
    [address] = serve("--listen", "127.0.0.1:0", *map(str, words)).addresses()
    monkeypatch.setenv("PLYD_CA", str(folder / "ca.pem"))
    solved = subprocess.run(
        [sys.executable, "-m", "plyd.clients", "solve", "--connect", f"tls:{address}"],
        input=f"{OPENING}\n",
        text=True,
        capture_output=True,
        check=True,
    )
    assert solved.stdout == "= 1422.339261\n"
    assert CliRunner().invoke(main, ["health", f"tls:{address}"]).stdout == "SERVING\n"


def test_mutual_tls_lets_in_who_has_a_certificate_of_the_authority(encrypted, folder):
    address = encrypted(authority=folder / "ca.pem")
    with client(address, folder, certificate="gui.pem", key="gui.key") as engine:
        assert engine.search(OPENING).move == "right"
    for shown in ({}, {"certificate": "stranger.pem", "key": "stranger.key"}):
        with client(address, folder, **shown) as engine, pytest.raises(Unavailable):
            engine.describe()


def test_a_certificate_s_name_is_a_client(encrypted, folder, tmp_path):
    clients = tmp_path / "clients.toml"
    clients.write_text('[[client]]\nname = "gui"\ncommon_name = "gui@example"\n')
    address = encrypted(authority=folder / "ca.pem", clients=clients)
    with client(address, folder, certificate="gui.pem", key="gui.key") as engine:
        assert engine.search(OPENING).move == "right"
    with client(address, folder, certificate="server.pem", key="server.key") as engine, pytest.raises(NotAllowed):
        engine.describe()


def test_a_unix_socket_of_an_encrypted_daemon_is_plain(encrypted, tmp_path):
    with EngineClient(encrypted(listen=f"unix:{tmp_path}/s")) as engine:
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


def test_a_new_certificate_is_shown_to_whoever_connects_and_the_others_stay(encrypted, folder, tmp_path, caplog):
    for suffix in ("pem", "key"):
        shutil.copy(folder / f"server.{suffix}", tmp_path / f"it.{suffix}")
    address = encrypted(tmp_path / "it.pem", tmp_path / "it.key")
    with client(address, folder) as engine, engine.play(OPENING) as game:
        first = told_certificate(address, folder)
        assert first.split() == (folder / "server.pem").read_text().split()

        shutil.copy(folder / "gui.pem", tmp_path / "it.pem")  # its key is not there yet
        assert told_certificate(address, folder) == first
        until(lambda: "the new certificate is not valid, the old one stays in use: tls.key" in caplog.text)

        shutil.copy(folder / "gui.key", tmp_path / "it.key")
        assert told_certificate(address, folder).split() == (folder / "gui.pem").read_text().split()
        with client(address, folder) as newcomer:
            assert newcomer.search(OPENING).move == "right"
        assert game.best(nodes=1).move == "right"

        (tmp_path / "it.key").unlink()
        assert told_certificate(address, folder).split() == (folder / "gui.pem").read_text().split()
        until(lambda: "the new certificate is not valid, the old one stays in use: cannot read" in caplog.text)


def test_other_machines_are_let_in_by_tls(encrypted, folder):
    settings = gather({"listen": ("0.0.0.0:0",), "tls.certificate": folder / "server.pem"}, {}, None)
    [address] = read_addresses(settings)
    port = encrypted(listen=str(address)).rpartition(":")[2]
    with client(f"127.0.0.1:{port}", folder) as engine:
        assert engine.search(OPENING).move == "right"
