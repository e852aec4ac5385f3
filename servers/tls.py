"""Certificates: read and checked before gRPC sees them, which would not say what is wrong."""

import ssl
from pathlib import Path

import grpc

from plyd.servers.settings import BadSetting


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
    chain, secret = _bytes_of("tls.certificate", certificate), _bytes_of("tls.key", key)
    roots = None if client_ca is None else _bytes_of("tls.client_ca", client_ca)
    _check_pair(certificate, key)
    if client_ca is not None:
        _check_authority(client_ca)
    return grpc.ssl_server_credentials([(secret, chain)], roots, require_client_auth=roots is not None)


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
