"""Our code on other machines: a zip file that Spark's workers unpack once.

Compiled kernels are kept on disk beside their source, and what comes out of a zip file has no
such place. So the zip file that travels with a job holds stubs of our packages; the first
import of one unpacks the real ones into a folder of that machine which is named after their
content, and reads them from there. The next job finds them there, compiled.
"""

import hashlib
import importlib
import importlib.util
import io
import zipfile
from pathlib import Path
from typing import Final

PACKAGES: Final = ("framework", "checkers")
"""What kernels are made of."""
LIBRARIES: Final = ("numpy", "pyarrow", "numba")
"""What they need besides, in the Python of the workers."""
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
        for package in PACKAGES:
            archive.writestr(f"{package}/__init__.py", _STUB)
    return target


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
    """The packages as a zip file, the same bytes for the same sources."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            spec = importlib.util.find_spec(package)
            for root in spec.submodule_search_locations or () if spec else ():
                for source in sorted(Path(root).rglob("*.py")):
                    name = Path(package) / source.relative_to(root)
                    archive.writestr(zipfile.ZipInfo(str(name)), source.read_bytes())
    return content.getvalue()
