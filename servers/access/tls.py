"""Certificates: read and checked before gRPC sees them, which would not say what is wrong; and again on each change."""

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
    """What gRPC needs to encrypt; None where no certificate is set."""
    if certificate is None and key is None:
        if client_ca is not None:
            raise BadSetting(
                "tls.client_ca is set without tls.certificate and tls.key; callers cannot be asked for more"
            )
        return None
    if certificate is None or key is None:
        have, lack = ("tls.key", "tls.certificate") if certificate is None else ("tls.certificate", "tls.key")
        raise BadSetting(f"{have} is set without {lack}; TLS needs both")
    files = Files(certificate, key, client_ca)
    renewal: Any = Renewal(files)  # that it may give None is documented, but not known to grpc's types
    return grpc.dynamic_ssl_server_credentials(files.configuration(), renewal, client_ca is not None)


@dataclass(frozen=True, slots=True)
class Files:
    """Where a daemon's certificate and what belongs to it are."""

    certificate: Path
    key: Path
    client_ca: Path | None

    def configuration(self) -> grpc.ServerCertificateConfiguration:
        """What is in them, for gRPC; BadSetting if something is wrong with it."""
        chain, secret = _bytes_of("tls.certificate", self.certificate), _bytes_of("tls.key", self.key)
        roots = None if self.client_ca is None else _bytes_of("tls.client_ca", self.client_ca)
        _check_pair(self.certificate, self.key)
        if self.client_ca is not None:
            _check_authority(self.client_ca)
        return grpc.ssl_server_certificate_configuration([(secret, chain)], roots)

    def stamp(self) -> tuple[object, ...]:
        """Something that changes when one of them does."""
        paths = (self.certificate, self.key, *([self.client_ca] if self.client_ca else []))
        try:
            return tuple((it.st_mtime_ns, it.st_size, it.st_ino) for it in map(os.stat, paths))
        except OSError as error:
            return (str(error),)


class Renewal:
    """Called by gRPC before each handshake: the new configuration if the files have changed, None if they have not.

    Files that are wrong, or changed only in part, are told of and change nothing: connections are encrypted as before.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self._stamp = files.stamp()

    def __call__(self) -> grpc.ServerCertificateConfiguration | None:
        """What has changed."""
        stamp = self._files.stamp()
        if stamp == self._stamp:
            return None
        self._stamp = stamp
        try:
            configuration = self._files.configuration()
        except BadSetting as error:
            log.error("the certificate stays as it was: %s", error)
            return None
        log.info("new connections get the new certificate of %s", self._files.certificate)
        return configuration


def _bytes_of(name: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadSetting(f'cannot read {name} "{path}": {error.strerror}') from None


def _check_pair(certificate: Path, key: Path) -> None:
    def ask() -> str:
        raise BadSetting(f'tls.key "{key}" has a passphrase; a daemon has nobody to ask for it')

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, ask)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise BadSetting(f'tls.key "{key}" does not belong to tls.certificate "{certificate}"') from None
        raise BadSetting(f'"{certificate}" and "{key}" are not a certificate and its key in PEM form') from None


def _check_authority(path: Path) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(path)
    except ssl.SSLError:
        raise BadSetting(f'tls.client_ca "{path}" has no certificate in PEM form') from None
