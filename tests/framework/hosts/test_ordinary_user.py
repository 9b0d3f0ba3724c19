"""All of the namespaces provider works for a user that is not root."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

SCRIPT = """
import os, signal, sys, tempfile
from pathlib import Path
from framework.hosts.namespaces.provider import NamespacesProvider
from framework.plugins.host import Image
from nemesis.inspect import dropped
from nemesis.partition import rules
assert os.getuid() != 0
provider = NamespacesProvider()
assert all(ability.works for ability in provider.abilities()), provider.abilities()
with tempfile.TemporaryDirectory() as scratch:
    with provider.fleet("ordinary", ["a", "b"], Path(scratch), Image(name="none")) as fleet:
        host = fleet.hosts["a"]
        host.write(f"{host.workdir}/x/y", b"mine")
        assert (Path(scratch) / "nodes/a/x/y").stat().st_uid == os.getuid()
        pid = host.start([host.python, "-m", "http.server", "8000"], log=f"{host.workdir}/log")
        for _ in range(200):
            try:
                fleet.connect(host.address, 8000, 1.0).close()
                break
            except ConnectionRefusedError:
                host.run(["sleep", "0.05"])
        else:
            raise SystemExit("no answer")
        rules.drop(host, ["10.87.0.12"])
        assert dropped(host) == {"10.87.0.12": 0}
        rules.forget(host)
        assert dropped(host) == {}
        assert fleet.run_inside(["ip", "link", "show", "kraft-proof"], {}) == 0
        host.signal(pid, signal.SIGKILL)
    assert not provider.leftovers()
print("all of it")
"""

# Root's checkout and Python may be where an ordinary user cannot look. In a mount namespace of
# the test's own, root's home becomes a directory with just these in it.
AS_NOBODY = """
home=/root
i=0
for path in "$@"; do
    case $path in "$home"/*)
        i=$((i + 1)); mkdir -p "$SPARE/$i"; mount --bind "$path" "$SPARE/$i";;
    esac
done
mount -t tmpfs -o mode=755 none "$home"
i=0
for path in "$@"; do
    case $path in "$home"/*)
        i=$((i + 1)); mkdir -p "$path"; mount --bind "$SPARE/$i" "$path";;
    esac
done
exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
    env -i HOME=/nonexistent PATH=/usr/bin:/bin PYTHONPATH="$ROOT" PYTHONDONTWRITEBYTECODE=1 \
    "$PYTHON" -c "$SCRIPT"
"""


def test_without_root(tmp_path: Path) -> None:
    if os.getuid() == 0:
        needed = sorted({sys.base_prefix, sys.prefix, str(ROOT)})
        command = ["unshare", "--mount", "sh", "-euc", AS_NOBODY, "sh", *needed]
    else:
        command = [sys.executable, "-c", SCRIPT]
    variables = {
        "SCRIPT": SCRIPT,
        "ROOT": str(ROOT),
        "PYTHON": sys.executable,
        "SPARE": str(tmp_path),
    }
    done = subprocess.run(
        command,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip().endswith("all of it")
