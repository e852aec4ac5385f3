"""docs/operations.md: its commands for certificates make certificates that work, and what it names exists."""

import re
import shutil
import ssl
import subprocess
import tomllib
from concurrent import futures
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from plyd.engines.registry import ENGINES
from tests.patience import SOON

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "operations.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """A folder in which the page's commands ran."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    [commands] = blocks("sh")
    done = subprocess.run(["sh", "-e", "-c", commands], cwd=folder, capture_output=True, text=True, timeout=SOON)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def port(certificates):
    """A server that asks its callers for a certificate."""
    server = grpc.server(futures.ThreadPoolExecutor(1))
    servicer = health.HealthServicer()
    servicer.set("", health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    ca, key, chain = (read(certificates, name) for name in ("ca.pem", "server.key", "server.pem"))
    credentials = grpc.ssl_server_credentials([(key, chain)], ca, require_client_auth=True)
    port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    yield port
    server.stop(0)


def read(folder, name):
    return (folder / name).read_bytes()


def check(target, credentials):
    """The status that a server tells, or raises grpc.RpcError."""
    with grpc.secure_channel(target, credentials) as channel:
        return health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=10).status


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_who_has_a_certificate_comes_in_by_each_name(certificates, port, host):
    ca, key, chain = (read(certificates, name) for name in ("ca.pem", "client.key", "client.pem"))
    assert check(f"{host}:{port}", grpc.ssl_channel_credentials(ca, key, chain)) == 1


def test_who_has_none_does_not(certificates, port):
    with pytest.raises(grpc.RpcError):
        check(f"127.0.0.1:{port}", grpc.ssl_channel_credentials(read(certificates, "ca.pem")))


def test_a_server_is_no_client_nor_a_client_a_server(certificates):
    for name, purpose, status in (
        ("server", "sslserver", 0),
        ("client", "sslclient", 0),
        ("server", "sslclient", 2),
        ("client", "sslserver", 2),
    ):
        command = ["openssl", "verify", "-purpose", purpose, "-CAfile", "ca.pem", f"{name}.pem"]
        assert subprocess.run(command, cwd=certificates, capture_output=True).returncode == status


def test_nobody_else_can_read_the_keys(certificates):
    assert {file.stat().st_mode & 0o777 for file in certificates.glob("*.key")} == {0o600}


def test_the_certificate_is_for_the_names_that_the_page_says(certificates):
    decoded = ssl._ssl._test_decode_cert(str(certificates / "server.pem"))
    names = (("DNS", "localhost"), ("DNS", "plyd.example.org"), ("IP Address", "127.0.0.1"))
    assert decoded["subjectAltName"] == names


def test_the_example_of_a_clients_file_is_toml():
    [example] = blocks("toml")
    assert [client["name"] for client in tomllib.loads(example)["client"]] == ["gui", "tournament"]


def test_every_file_that_the_page_names_is_there():
    named = set(re.findall(r"deploy/[\w./@-]*[\w]", PAGE))
    assert named
    assert all((ROOT / name).exists() for name in named)


def test_what_the_page_says_of_memory_is_what_the_manifests_ask_for():
    rows = re.findall(r"^\| `([\w-]+)` \| (\w+), (\w+) \| (\d) \|$", PAGE, re.MULTILINE)
    assert [row[0] for row in rows] == list(ENGINES)
    for game, request, limit, cores in rows:
        text = (ROOT / "deploy" / "kubernetes" / game / "kustomization.yaml").read_text()
        assert f'requests: {{cpu: "{cores}", memory: {request}}}' in text
        assert f'limits: {{cpu: "{cores}", memory: {limit}}}' in text
