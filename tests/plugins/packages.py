"""Packages with games, as pip would have installed them: metadata in a folder of the path, and code."""

from pathlib import Path


def install(folder: Path, name: str, entries: str, code: str = "") -> Path:
    """Write the metadata of a package, and its only module; the folder, to be put on the path."""
    metadata = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[plyd.engines]\n{entries}\n")
    if code:
        (folder / f"{name.replace('-', '_')}.py").write_text(code)
    return folder
