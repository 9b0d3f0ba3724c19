#!/usr/bin/env bash
# Makes this checkout ready: system packages, a virtual environment, the project in it.
#
#   scripts/setup.sh run     what `make run` needs
#   scripts/setup.sh test    the same, Docker with an engine that answers, and the test extras
#
# As root, on Debian and Ubuntu, missing packages are installed. Otherwise they are named, and this
# fails. Says what it does; says nothing and takes no time when there is nothing to do.
set -euo pipefail
cd "$(dirname "$0")/.."

# System tools live there, and an ordinary user's PATH may leave it out.
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
PYTHON="${PYTHON:-python3}"
VENV="${VENV:-.venv}"
DOCKER_WAIT_S="${DOCKER_WAIT_S:-60}"
DOCKERD_LOG="${TMPDIR:-/tmp}/kraft-proof-dockerd.log"

say() { printf 'setup: %s\n' "$*" >&2; }
fail() {
    say "$*"
    exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

python_is_new_enough() {
    has "$PYTHON" && "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))'
}

need_python() {
    python_is_new_enough || fail "Python 3.11 or newer is needed, and $PYTHON is not (PYTHON=... names another)"
}

java_is_new_enough() {
    local java=java version
    if [[ -n "${JAVA_HOME:-}" ]]; then java="$JAVA_HOME/bin/java"; fi
    version="$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1)" || true
    [[ "${version:-0}" -ge 17 ]]
}

# A package that others merely name is shown, but cannot be installed.
known_to_apt() { [[ "$(apt-cache policy "$1" 2>/dev/null)" == *"Candidate: "[^\(]* ]]; }

java_package() {
    if ! has apt-cache || known_to_apt openjdk-17-jre-headless; then
        echo openjdk-17-jre-headless
    else
        echo default-jre-headless
    fi
}

# The tests' own names of it are in tests/framework/serve/devtools.py.
browser_works() { has chromium || has chromium-browser || has google-chrome; }

venv_works() { "$VENV/bin/python" -c 'import pip' >/dev/null 2>&1; }
docker_answers() { has docker && timeout 20 docker info >/dev/null 2>&1; }

# Debian packages that are missing, one a line. Which Java package there is may be known only
# after `apt-get update`.
missing_packages() {
    has "$PYTHON" || echo "$PYTHON"
    java_is_new_enough || java_package
    has ip || echo iproute2
    has nft || echo nftables
    venv_works || "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
    if [[ "$1" == test ]]; then
        has mmdebstrap || echo mmdebstrap
        has etcd || echo etcd-server
        has mvn || echo maven
        browser_works || echo chromium
        docker_answers || has dockerd || echo docker.io
        # Newer releases keep the client in a package of its own.
        has docker || if has apt-cache && known_to_apt docker-cli; then echo docker-cli; else echo docker.io; fi
    fi
}

# Tests start members of their own; the service that the package brings is of no use to them.
stop_etcd() { { systemctl disable --now etcd || service etcd stop; } >/dev/null 2>&1 || true; }

install_packages() {
    local packages
    packages="$(missing_packages "$1" | sort -u | tr '\n' ' ')"
    if [[ -z "$packages" ]]; then return; fi
    if [[ "$(id -u)" -ne 0 ]] || ! has apt-get; then
        fail "missing system packages: ${packages% }. As root: apt-get install ${packages% }"
    fi
    say "apt-get update"
    apt-get update -qq >/dev/null
    packages="$(missing_packages "$1" | sort -u | tr '\n' ' ')"
    say "apt-get install ${packages% }"
    # shellcheck disable=SC2086 # a list of words
    DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes apt-get install -y -qq --no-install-recommends $packages >/dev/null
    hash -r
    if [[ "$packages" == *etcd-server* ]]; then stop_etcd; fi
    packages="$(missing_packages "$1" | sort -u | tr '\n' ' ')"
    if [[ -n "$packages" ]]; then
        fail "still missing after apt-get install: ${packages% }"
    fi
}

# Wait until the engine answers, at most so many seconds.
await_docker() {
    local end=$((SECONDS + $1))
    until docker_answers; do
        if ((SECONDS >= end)); then return 1; fi
        sleep 0.5
    done
}

start_docker() {
    if docker_answers; then return; fi
    if [[ "$(id -u)" -ne 0 ]]; then
        fail "no Docker engine answers ('docker info' says why). Start it, and let this user reach it"
    fi
    if has service; then
        say "service docker start"
        if service docker start >&2 && await_docker "$((DOCKER_WAIT_S / 3))"; then return; fi
    fi
    say "dockerd, its log in $DOCKERD_LOG"
    nohup dockerd >"$DOCKERD_LOG" 2>&1 </dev/null &
    await_docker "$DOCKER_WAIT_S" ||
        fail "dockerd does not answer after $DOCKER_WAIT_S s: $(tail -n 1 "$DOCKERD_LOG")"
}

make_venv() {
    if venv_works; then return; fi
    say "$PYTHON -m venv $VENV"
    "$PYTHON" -m venv --clear "$VENV"
}

# Install the project, unless that was done since pyproject.toml last changed.
install_project() {
    local stamp="$VENV/.installed-$1" other="$VENV/.installed-test" what=.
    if [[ "$stamp" -nt pyproject.toml || "$other" -nt pyproject.toml && "$1" == run ]]; then return; fi
    if [[ "$1" == test ]]; then what='.[test]'; fi
    say "pip install -e '$what'"
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check -e "$what" >&2
    touch "$stamp"
}

# Whether kernels were compiled, to which this file bears witness, since their sources last changed.
compiled_since() {
    local sources=(framework/compiled.py framework/history checkers)
    [[ -e "$1" && -z "$(find "${sources[@]}" -name '*.py' -newer "$1" 2>/dev/null)" ]]
}

# Compile the kernels that the check of a run needs. A run compiles what it finds missing while its
# cluster runs, which takes nearly all of a minute; Spark's workers can try the check only then, and
# the verdict would wait for that.
compile_for_runs() {
    if compiled_since "$VENV/.compiled-run" || compiled_since "$VENV/.compiled-test"; then return; fi
    say "compiling the kernels of a run's check, once a machine (half a minute)"
    # Without them a run is as right, and its verdict later.
    if "$VENV/bin/python" -m checkers.precompile >&2 && note_compiled; then
        touch "$VENV/.compiled-run"
    else
        say "they could not be compiled; the run does it"
    fi
}

# Compile all of the checkers' kernels, and keep Spark's classes as a JVM has them once loaded.
compile_for_tests() {
    if compiled_since "$VENV/.compiled-test"; then return; fi
    say "compiling the checkers' kernels, once a machine (a minute or two)"
    "$VENV/bin/python" -m checkers.precompile --all >&2
    note_compiled
    # Spark without them is as right, and slower to start.
    "$VENV/bin/python" -m framework.checking.class_archive || say "Spark's classes could not be kept"
    touch "$VENV/.compiled-test"
}

# Runs ask for this note, rather than look for each kernel.
note_compiled() { "$VENV/bin/python" -m framework.checking.precompile >/dev/null; }

# Apache Kafka and its command line tools, which the tests run as well: once a machine.
get_kafka() {
    local stamp="$VENV/.kafka" sources=(nodes/kafka/releases.py nodes/kafka/command_line.py nodes/kafka/defects/checksums.txt)
    if [[ -e "$stamp" && -z "$(find "${sources[@]}" -newer "$stamp" 2>/dev/null)" ]]; then return; fi
    say "Apache Kafka, by Maven where it is not on this machine"
    # Without it the tests that run it fail, and no others.
    if "$VENV/bin/python" -m framework get kafka >&2; then touch "$stamp"; else say "Apache Kafka could not be had"; fi
}

# The images that containers have: once a machine, else the first tests that want them wait for them.
make_images() {
    local stamp="$VENV/.image"
    if [[ "$stamp" -nt docker/Dockerfile ]]; then return; fi
    say "the images of containers, where they are not on this machine"
    # Without them the tests with containers fail, and no others.
    if PYTHONPATH=examples/etcd "$VENV/bin/python" -m framework.hosts.docker kraft kraft_proof_etcd.system:Etcd >&2 &&
        "$VENV/bin/python" -m framework.hosts.docker kafka >&2; then touch "$stamp"; else say "not all could be had"; fi
}

main() {
    case "${1:-}" in
    run | test) ;;
    *) fail "usage: scripts/setup.sh run|test" ;;
    esac
    if has "$PYTHON"; then need_python; fi
    install_packages "$1"
    need_python
    if [[ "$1" == test ]]; then start_docker; fi
    make_venv
    install_project "$1"
    if [[ "$1" == test ]]; then
        # What comes from elsewhere is waited for; meanwhile the cores compile.
        {
            get_kafka
            make_images
        } &
        local brought=$!
        compile_for_tests
        wait "$brought"
    else
        compile_for_runs
    fi
}

main "$@"
