"""Our code on other machines: a zip file that Spark's workers unpack once.

Compiled kernels are kept on disk beside their source, and what comes out of a zip file has no
such place. So the zip file that travels with a job holds stubs of our packages; the first
import of one unpacks the real ones into a folder of that machine which is named after their
content, and reads them from there. The next job finds them there, compiled. Kernels that are
compiled here travel as well: numba takes them where the processor is the same, else makes its own.

What travels is the engine, and whatever plugs checkers or models into it: entry points know no
workers, and need not, for what is sent there refers to modules by their names. Systems, workloads
and faults stay where runs are recorded.
"""

import hashlib
import importlib.util
import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from framework.compiled import FOLDER, folder_of
from framework.plugins import registry

GROUPS: Final = ("checkers", "models")
"""Plugins that workers run."""
_CACHE: Final = "__pycache__"
_UNPACKER: Final = "kraft_proof_code"
_STUB: Final = f"from {_UNPACKER} import folder\n\n__path__ = [folder(__name__)]\n"
_UNPACKER_SOURCE: Final = '''
import glob
import hashlib
import io
import os
import pkgutil
import shutil
import tempfile
import zipfile

DIGEST = {digest!r}


def folder(package):
    """Where a package is on this machine."""
    root = os.path.join(tempfile.gettempdir(), "kraft-proof-%d-%s" % (os.getuid(), DIGEST))
    if not os.path.isdir(root):
        unfinished = tempfile.mkdtemp(prefix="kraft-proof-")
        for name in ("code.zip", "kernels.zip"):
            with zipfile.ZipFile(io.BytesIO(pkgutil.get_data(__name__, name))) as content:
                content.extractall(unfinished)
        place_kernels(unfinished, root)
        try:
            os.rename(unfinished, root)
        except OSError:  # somebody else was faster
            shutil.rmtree(unfinished, ignore_errors=True)
    status = os.lstat(root)
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise ImportError(root + ": somebody else can write there; remove it")
    return os.path.join(root, package)


def place_kernels(unfinished, root):
    """numba names the folder of machine code after the folder that the source will be in."""
    pattern = os.path.join(glob.escape(unfinished), "**", "__pycache__", "kernels", "*", "*")
    for kept in glob.glob(pattern, recursive=True):
        sources = root + kept[len(unfinished):].partition(os.sep + "__pycache__")[0]
        named = os.path.basename(sources) + "_" + hashlib.sha1(sources.encode()).hexdigest()
        os.rename(kept, os.path.join(os.path.dirname(kept), named))
'''


def package_zip(target: Path) -> Path:
    """Writes the zip file that travels; returns its path."""
    code = _zipped(_sources())
    digest = hashlib.sha256(code).hexdigest()[:16]
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(f"{_UNPACKER}/__init__.py", _UNPACKER_SOURCE.format(digest=digest))
        archive.writestr(f"{_UNPACKER}/code.zip", code)
        archive.writestr(f"{_UNPACKER}/kernels.zip", _zipped(_kernels()))
        for package, files in packages().items():
            if isinstance(files, Path):
                archive.write(files, files.name)
            else:
                archive.writestr(f"{package}/__init__.py", _STUB)
    return target


def packages() -> dict[str, Sequence[Path] | Path]:
    """What travels: the folders of each package, or the file of a module that is in none."""
    modules = {module for group in GROUPS for module in registry.modules(group)}
    names = {module.partition(".")[0] for module in {__name__, *modules}}
    found: dict[str, Sequence[Path] | Path] = {}
    for name in sorted(names):
        spec = importlib.util.find_spec(name)
        if spec is None:
            continue  # installed, and gone: who asks for it is told so
        if spec.submodule_search_locations is not None:
            found[name] = [Path(folder) for folder in spec.submodule_search_locations]
        elif spec.origin is not None:
            found[name] = Path(spec.origin)
    return found


def _sources() -> dict[str, Path]:
    """The files of the packages, by their names in the zip file."""
    return {
        str(Path(package) / file.relative_to(root)): file
        for package, root in _folders()
        for file in sorted(root.rglob("*"))
        if file.is_file() and _CACHE not in file.relative_to(root).parts
    }


def _kernels() -> dict[str, Path]:
    """Kernels that are compiled, of the sources as they are; where it is not yet said in which
    place the sources will be, which is in the name of a folder."""
    return {
        str(Path(package) / folder.relative_to(root) / "kept" / file.name): file
        for package, root in _folders()
        for folder in sorted(root.rglob(f"{_CACHE}/{FOLDER}/*"))
        if folder.name == folder_of(_module(package, root, folder)).name
        for file in sorted(folder.glob("*/*.nb[ci]"))
    }


def _module(package: str, root: Path, kernels: Path) -> str:
    """Whose kernels are in a folder."""
    within = kernels.parents[2].relative_to(root).parts
    return ".".join((package, *within, kernels.name.rpartition("-")[0]))


def _folders() -> Iterator[tuple[str, Path]]:
    for package, folders in packages().items():
        for root in [] if isinstance(folders, Path) else folders:
            yield package, root


def _zipped(files: Mapping[str, Path]) -> bytes:
    """The same bytes for the same files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in files.items():
            archive.writestr(zipfile.ZipInfo(name), file.read_bytes(), zipfile.ZIP_DEFLATED)
    return content.getvalue()
