"""Ask a zip file how much it holds before anything of it is unpacked."""

from __future__ import annotations

import io
import zipfile

from secateur.errors import FormatError
from secateur.limits import MAX_MODEL, format_bytes

__all__ = ["check_zip_size"]


def check_zip_size(content: bytes, name: str) -> None:
    """Refuse a zip file that holds too much; Python unpacks no more of a part than the file's list says."""
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        total = sum(part.file_size for part in packed.infolist())
    if total > MAX_MODEL.value:
        raise FormatError(
            f"{name} unpacks to {format_bytes(total)}, and at most {MAX_MODEL.told} are read of such a file: "
            f"{MAX_MODEL.advise(total)}."
        )
