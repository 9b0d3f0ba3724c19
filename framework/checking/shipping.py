"""Our code on other machines: a zip file that Spark's workers unpack once.

Compiled kernels are kept on disk beside their source, and what comes out of a zip file has no
such place. So the zip file that travels with a job holds stubs of our packages; the first
import of one unpacks the real ones into a folder of that machine which is named after their
content, and reads them from there. The next job finds them there, compiled.

What travels is the engine, and whatever plugs checkers or models into it: entry points know no
workers, and need not, for what is sent there refers to modules by their names. Systems, workloads
and faults stay where runs are recorded.
"""

import hashlib
import importlib
import importlib.util
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from framework.plugins import registry

GROUPS: Final = ("checkers", "models")
"""Plugins that workers run."""
LIBRARIES: Final = ("numpy", "pyarrow", "numba")
"""What kernels need besides, in the Python of the workers. Others' plugins may need more."""
_CACHE: Final = "__pycache__"
_UNPACKER: Final = "kraft_proof_code"
_STUB: Final = f"from {_UNPACKER} import folder\n\n__path__ = [folder(__name__)]\n"
_UNPACKER_SOURCE: Final = '''
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
        draft = tempfile.mkdtemp(prefix="kraft-proof-")
        with zipfile.ZipFile(io.BytesIO(pkgutil.get_data(__name__, "code.zip"))) as code:
            code.extractall(draft)
        try:
            os.rename(draft, root)
        except OSError:  # somebody else was faster
            shutil.rmtree(draft, ignore_errors=True)
    status = os.lstat(root)
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise ImportError(root + ": somebody else can write there; remove it")
    return os.path.join(root, package)
'''


def package_zip(target: Path) -> Path:
    """Writes the zip file that travels; returns its path."""
    code = _code()
    digest = hashlib.sha256(code).hexdigest()[:16]
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(f"{_UNPACKER}/__init__.py", _UNPACKER_SOURCE.format(digest=digest))
        archive.writestr(f"{_UNPACKER}/code.zip", code)
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


def lacking(_: int) -> list[str]:
    """On a worker: what kernels need, and cannot be imported there."""
    lacks = []
    for name in LIBRARIES:
        try:
            importlib.import_module(name)
        except ImportError:
            lacks.append(name)
    return lacks


def _code() -> bytes:
    """The packages as a zip file, the same bytes for the same files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for package, folders in packages().items():
            for root in [] if isinstance(folders, Path) else folders:
                for file in sorted(root.rglob("*")):
                    within = file.relative_to(root)
                    if file.is_file() and _CACHE not in within.parts:
                        name = zipfile.ZipInfo(str(Path(package) / within))
                        archive.writestr(name, file.read_bytes(), zipfile.ZIP_DEFLATED)
    return content.getvalue()
