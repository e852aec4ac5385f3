"""`plyd doctor` finds what is wrong, says what to do, and fails only if plyd cannot work."""

import socket

import pytest
from click.testing import CliRunner

from plyd.engines.core import kernel_cache
from plyd.models import shipped
from plyd.servers.cli import doctor


def found(what, check):
    """The finding of a check on something."""
    [finding] = [finding for finding in check() if finding.what == what]
    return finding


@pytest.fixture
def free_ports(monkeypatch):
    """A base port with nothing of `plyd up` behind it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = min(probe.getsockname()[1], 65_000)
    monkeypatch.setenv("PLYD_UP_BASE_PORT", str(port))
    return port


def test_a_sound_machine_has_no_fault(free_ports):
    done = CliRunner().invoke(doctor.doctor)
    assert done.exit_code == 0, done.output
    assert not [line for line in done.output.splitlines() if line.split()[:1] == [doctor.FAULT]]
    for word in ("numba", "cores", "memory", "kernels of gomoku", f"127.0.0.1:{free_ports}", "weights 2048-classic"):
        assert word in done.output


def test_weights_that_are_not_those_of_their_manifest_are_a_fault(monkeypatch, tmp_path):
    (tmp_path / "2048-classic.plyd").write_bytes(b"PLYDNET1 cut short")
    (tmp_path / "2048-classic.json").write_text('{"sha256": "00", "trained": {}}')
    (tmp_path / "lonely.plyd").write_bytes(b"")
    monkeypatch.setattr(shipped, "WEIGHTS", tmp_path)
    done = CliRunner().invoke(doctor.doctor)
    assert done.exit_code == 1
    assert "install plyd again" in done.output
    assert "2 of" in done.output
    assert "checks found a fault" in done.output


def test_a_port_that_another_program_has_is_told_with_its_process():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        settings = doctor.gather({"up.base_port": port}, {}, None)
        assert doctor.ports(settings)["2584-2x3"] == port
        finding = doctor.port_finding("2584-2x3", doctor.Address("127.0.0.1", port))
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use by process" in finding.says
    assert finding.remedy


def test_bad_settings_are_a_fault_with_what_to_do(monkeypatch):
    monkeypatch.setenv("PLYD_UP_BASE_PORT", "many")
    finding = found("settings", doctor.settings_and_ports)
    assert finding.verdict == doctor.FAULT
    assert "many" in finding.says
    assert "plyd config check" in finding.remedy


def test_a_cache_that_nobody_can_trust_is_a_warning(monkeypatch):
    monkeypatch.setattr(kernel_cache, "root", lambda: None)
    finding = found("kernel cache", doctor.kernel_cache)
    assert finding.verdict == doctor.WARNING
    assert "NUMBA_CACHE_DIR" in finding.remedy


def test_an_empty_cache_names_the_command_that_fills_it(monkeypatch, tmp_path):
    monkeypatch.setattr(kernel_cache, "root", lambda: tmp_path)
    finding = found("kernels of gomoku", doctor.kernel_cache)
    assert (finding.verdict, finding.remedy) == (doctor.WARNING, "plyd warm gomoku")


def test_little_memory_is_a_warning_with_what_to_serve(monkeypatch):
    monkeypatch.setattr("plyd.engines.core.cores.usable_megabytes", lambda: 1024)
    finding = found("memory", doctor.memory)
    assert finding.verdict == doctor.WARNING
    assert "plyd up" in finding.remedy
