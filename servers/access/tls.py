"""Certificates: checked by us, since gRPC does not say what is wrong with them; read again when they change."""

import logging
import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from plyd.servers.settings import BadSetting

log = logging.getLogger("plyd.daemon")


def credentials(
    certificate: Path | None, key: Path | None, client_ca: Path | None = None
) -> grpc.ServerCredentials | None:
    """Credentials of a gRPC server with TLS; None without a certificate."""
    if certificate is None and key is None:
        if client_ca is not None:
            raise BadSetting("tls.client_ca is set without tls.certificate and tls.key; mutual TLS needs all three")
        return None
    if certificate is None or key is None:
        have, lack = ("tls.key", "tls.certificate") if certificate is None else ("tls.certificate", "tls.key")
        raise BadSetting(f"{have} is set without {lack}; TLS needs both")
    files = TlsFiles(certificate, key, client_ca)
    reloader: Any = CertificateReloader(files)  # may return None, which is documented but missing in grpc's types
    return grpc.dynamic_ssl_server_credentials(files.configuration(), reloader, client_ca is not None)


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The paths of a daemon's certificate, its key, and the authority of client certificates."""

    certificate: Path
    key: Path
    client_ca: Path | None

    def configuration(self) -> grpc.ServerCertificateConfiguration:
        """The contents of the files, for gRPC; raises BadSetting if something is wrong."""
        chain, secret = _bytes_of("tls.certificate", self.certificate), _bytes_of("tls.key", self.key)
        roots = None if self.client_ca is None else _bytes_of("tls.client_ca", self.client_ca)
        _check_pair(self.certificate, self.key)
        if self.client_ca is not None:
            _check_authority(self.client_ca)
        return grpc.ssl_server_certificate_configuration([(secret, chain)], roots)

    def stamp(self) -> tuple[object, ...]:
        """A value that changes when one of the files changes."""
        paths = (self.certificate, self.key, *([self.client_ca] if self.client_ca else []))
        try:
            return tuple((it.st_mtime_ns, it.st_size, it.st_ino) for it in map(os.stat, paths))
        except OSError as error:
            return (str(error),)


class CertificateReloader:
    """Called by gRPC before each handshake: the new configuration if the files have changed, else None.

    If the new files are not valid, or not all of them are written yet, an error is logged and the old ones stay in use.
    """

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._stamp = files.stamp()

    def __call__(self) -> grpc.ServerCertificateConfiguration | None:
        """The new configuration, None if there is none."""
        stamp = self._files.stamp()
        if stamp == self._stamp:
            return None
        self._stamp = stamp
        try:
            configuration = self._files.configuration()
        except BadSetting as error:
            log.error("the new certificate is not valid, the old one stays in use: %s", error)
            return None
        log.info("new connections use the new certificate %s", self._files.certificate)
        return configuration


def _bytes_of(name: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadSetting(f'cannot read {name} "{path}": {error.strerror}') from None


def _check_pair(certificate: Path, key: Path) -> None:
    def refuse_passphrase() -> str:
        raise BadSetting(f'tls.key "{key}" has a passphrase; a daemon needs a key without one')

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, refuse_passphrase)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise BadSetting(f'tls.key "{key}" does not belong to tls.certificate "{certificate}"') from None
        raise BadSetting(f'"{certificate}" and "{key}" are not a certificate and its key in PEM form') from None


def _check_authority(path: Path) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(path)
    except ssl.SSLError:
        raise BadSetting(f'tls.client_ca "{path}" has no certificate in PEM form') from None
