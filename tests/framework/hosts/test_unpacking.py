"""What is taken out of an archive of a machine that nobody vouches for."""

import io
import tarfile
from contextlib import suppress
from pathlib import Path

import pytest

from framework.hosts.ssh.unpacking import unpack

Member = tuple[str, bytes, str]
"""Name, tar's type, and for a link the name that it leads to."""
FILE, FOLDER, HARD, SYMBOLIC = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE
KEPT: list[Member] = [
    ("./a", FOLDER, ""),
    ("./a/one", FILE, ""),
    ("./a/..two", FILE, ""),
    ("./a/again", HARD, "./a/one"),
]


def packed(members: list[Member]) -> tarfile.TarFile:
    into = io.BytesIO()
    with tarfile.open(fileobj=into, mode="w") as archive:
        for name, kind, link in members:
            member = tarfile.TarInfo(name)
            member.type, member.linkname, member.mode = kind, link, 0o755
            member.size = 4 if kind == FILE else 0
            archive.addfile(member, io.BytesIO(b"said"))
    return tarfile.open(fileobj=io.BytesIO(into.getvalue()))


@pytest.fixture(params=["this Python", "one without filters"])
def python(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != "this Python" and hasattr(tarfile, "data_filter"):
        monkeypatch.delattr(tarfile, "data_filter")
        everything = staticmethod(tarfile.fully_trusted_filter)
        monkeypatch.setattr(tarfile.TarFile, "extraction_filter", everything, raising=False)


@pytest.mark.usefixtures("python")
def test_files_folders_and_second_names_are_kept(tmp_path: Path) -> None:
    unpack(packed(KEPT), tmp_path / "here")
    found = sorted(each.name for each in (tmp_path / "here" / "a").iterdir())
    assert found == ["..two", "again", "one"]
    assert (tmp_path / "here" / "a" / "again").read_bytes() == b"said"
    assert (tmp_path / "here" / "a" / "one").stat().st_nlink == 2


@pytest.mark.usefixtures("python")
@pytest.mark.parametrize(
    "members",
    [
        [("../out", FILE, "")],
        [("a/../../out", FILE, "")],
        [("{out}", FILE, "")],
        [("a", SYMBOLIC, ".."), ("a/out", FILE, "")],
        [("out", HARD, "../secret")],
        [("out", SYMBOLIC, "../secret")],
        [("out", HARD, "{secret}")],
    ],
)
def test_nothing_leads_outside(members: list[Member], tmp_path: Path) -> None:
    here, secret = tmp_path / "here", tmp_path / "secret"
    here.mkdir()
    secret.write_bytes(b"not to be had")
    names = {"out": tmp_path / "out", "secret": secret}
    told = [(name.format(**names), kind, link.format(**names)) for name, kind, link in members]
    with suppress(tarfile.TarError, KeyError, FileExistsError):  # it may refuse the whole
        unpack(packed(told), here)
    assert not (tmp_path / "out").exists()
    assert secret.stat().st_nlink == 1
    assert not any(each.is_symlink() for each in here.rglob("*"))
