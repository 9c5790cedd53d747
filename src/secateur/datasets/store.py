"""Find a published file in a directory that the user names, in the cache or at its public home; check its digest."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from secateur.errors import InputError

if TYPE_CHECKING:
    from secateur.datasets.published import Published

__all__ = ["DATA_VARIABLE", "find_file"]

DATA_VARIABLE = "SECATEUR_DATA"


def find_file(name: str, source: Published, data_dir: str | Path | None) -> Path:
    """Find a published file whose bytes are right, by default where ``SECATEUR_DATA`` says; download it if need be."""
    named = data_dir if data_dir is not None else os.environ.get(DATA_VARIABLE) or None
    if named is not None:
        if not Path(named).is_dir():
            raise InputError(f"The data directory {named} does not exist.")
        path = Path(named) / source.file
        if path.is_file():
            return _check_digest(name, source, path)
    return _download(name, source)


def _check_digest(name: str, source: Published, path: Path) -> Path:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != source.sha256:
        raise InputError(
            f"{path} is not the published file of {name}: its sha256 starts with {digest[:12]}, expected "
            f"{source.sha256[:12]}. Replace it with the file from {source.home}."
        )
    return path


def _download(name: str, source: Published) -> Path:
    try:
        import pooch
    except ImportError as error:
        raise InputError(
            f"The file of {name} is in no directory that you named, and downloading it needs pooch: install "
            f"secateur[reproduce], or name a directory with --data-dir or {DATA_VARIABLE}."
        ) from error

    cache = Path(pooch.os_cache("secateur"))
    by_hand = (
        f"Get {source.file} from {source.home} and put it into {cache}, or into a directory named by --data-dir or "
        f"{DATA_VARIABLE}."
    )
    cached = cache / source.file
    if cached.is_file():
        return _check_digest(name, source, cached)
    if source.url is None:
        raise InputError(f"The file of {name} cannot be downloaded without a login. {by_hand}")
    try:
        found = pooch.retrieve(
            source.url, known_hash=f"sha256:{source.sha256}", fname=source.file, path=cache, progressbar=False
        )
    except ValueError as error:  # pooch removes what it downloaded when the digest is wrong
        raise InputError(f"The download of {name} is not the published file (wrong sha256). {by_hand}") from error
    except Exception as error:  # whatever the network and its library raise
        raise InputError(f"The file of {name} could not be downloaded ({type(error).__name__}). {by_hand}") from error
    return Path(found)
