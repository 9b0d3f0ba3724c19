#!/bin/sh
# Make the base image where no image registry answers: a minimal Debian or Ubuntu with all that
# docker/Dockerfile would install. Needs mmdebstrap and a package mirror; about half a minute.
#
#   docker/base-image.sh [TAG [SUITE [PACKAGE...]]]
#
# SUITE is by default that of this machine, so that its python3 fits the dependencies that the
# framework copies from the Python that runs it. PACKAGEs of that suite are put in as well.
set -eu
tag=${1:-kraft-proof-base:latest}
suite=${2:-$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")}
if [ $# -gt 2 ]; then shift 2; else set --; fi
more=$(IFS=, && echo "$*")
command -v mmdebstrap >/dev/null || {
    echo "mmdebstrap is not installed: apt-get install mmdebstrap" >&2
    exit 1
}
# (Alternatives of Java want the folder of the manuals that are left out.)
archive=$(mktemp --suffix=.tar)
trap 'rm -f "$archive"' EXIT
mmdebstrap --quiet --variant=minbase \
    --include="python3,openssh-server,nftables,iproute2,procps${more:+,$more}" \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --essential-hook='mkdir -p "$1/usr/share/man/man1"' \
    "$suite" "$archive"
docker import --message "minimal $suite with Python and sshd" \
    --change 'LABEL kraft-proof.image=base' "$archive" "$tag"
