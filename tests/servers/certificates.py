"""Certificates for tests, made by openssl as docs/operations.md says."""

import subprocess


def openssl(folder, *words):
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def make_authority(folder, name="ca"):
    """An authority's key and certificate: name.key, name.pem."""
    openssl(
        folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj", f"/CN=plyd test {name}", "-keyout", f"{name}.key", "-out", f"{name}.pem",
    )  # fmt: skip


def make_certificate(folder, name, common_name, authority="ca"):
    """A key and a certificate by the authority, for this machine: name.key, name.pem."""
    openssl(
        folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
        f"/CN={common_name}", "-keyout", f"{name}.key", "-out", f"{name}.csr",
    )  # fmt: skip
    (folder / f"{name}.ext").write_text("subjectAltName = DNS:localhost, IP:127.0.0.1\n")
    openssl(
        folder, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key",
        "-CAcreateserial", "-days", "2", "-extfile", f"{name}.ext", "-out", f"{name}.pem",
    )  # fmt: skip
