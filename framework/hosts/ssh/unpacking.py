"""Archives that a machine made, which may be broken: they write nothing but where they shall."""

import tarfile
from pathlib import Path, PurePosixPath


def unpack(archive: tarfile.TarFile, into: Path) -> None:
    """By Python's own filter, which releases before 3.11.4 lack, Debian 12's among them; there
    without symbolic links, through which a later name may lead elsewhere."""
    if hasattr(tarfile, "data_filter"):
        archive.extractall(into, filter="data")
    else:
        archive.extractall(into, [member for member in archive if _stays(member)])


def _stays(member: tarfile.TarInfo) -> bool:
    names = [PurePosixPath(name) for name in (member.name, member.linkname)]
    inside = all(not name.is_absolute() and ".." not in name.parts for name in names)
    return inside and (member.isreg() or member.isdir() or member.islnk())
