"""Which files a process opens, however it does: the kernel tells (fanotify(7)).

By Python, by C++, to map them into memory: each is seen. Without privileges the kernel tells of
one's own process alone, which is what is asked here; it has to be Linux 5.13 or newer, and to let
us ask.
"""

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_INIT_FLAGS: Final = 0x1 | 0x2 | 0x400 | 0x800
"""Closed on exec, never blocks, reports folders and names (`FAN_REPORT_DFID_NAME`)."""
_ADD, _OPENED, _OF_CHILDREN, _AT_CWD = 0x1, 0x20, 0x0800_0000, -100
_TOO_MUCH: Final = 0x4000
"""Of the mask: the queue was full."""
_EVENT: Final = struct.Struct("=IBBHQii")
"""Its length, a version, ..., the mask, a descriptor, the process."""
_INFO: Final = struct.Struct("=BBH8sIi")
"""Kind, padding, length, file system, bytes and kind of the folder's handle; then that, and the
name, which ends with 0."""


@contextmanager
def opened_here(folder: Path) -> Iterator[set[str]]:
    """Names of files in a folder, and in those below it that are there by now, that this process
    opens meanwhile; all are there once the block is left. Raises `OSError` where nobody tells."""
    libc = ctypes.CDLL(None, use_errno=True)
    queue = _done(libc.fanotify_init(_INIT_FLAGS, os.O_RDONLY))
    found: set[str] = set()
    try:
        for place in (folder, *(each for each in folder.rglob("*") if each.is_dir())):
            mask = ctypes.c_uint64(_OPENED | _OF_CHILDREN)
            _done(libc.fanotify_mark(queue, _ADD, mask, _AT_CWD, os.fsencode(place)))
        yield found
        found |= set(_names(queue))
    finally:
        os.close(queue)


def _done(result: int) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"fanotify: {os.strerror(error)}")
    return result


def _names(queue: int) -> Iterator[str]:
    """Of all that is in the queue, what this process did."""
    while True:
        try:
            told = os.read(queue, 1 << 16)
        except BlockingIOError:
            return
        at = 0
        while at < len(told):
            length, _, _, header, mask, _, pid = _EVENT.unpack_from(told, at)
            assert not mask & _TOO_MUCH
            info = at + header
            _, _, size, _, handle, _ = _INFO.unpack_from(told, info)
            name = told[info + _INFO.size + handle : info + size].partition(b"\0")[0]
            if pid == os.getpid():
                yield os.fsdecode(name)
            at += length


def read_by(pid: int | str = "self") -> int:
    """Bytes that a process has read by now, by `read` and the like (proc(5))."""
    counted = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return int(counted["rchar"])
