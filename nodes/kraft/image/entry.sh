#!/bin/sh
# Start a node from its environment, for compose and the like: KRAFT_PROCESS_ROLES=broker becomes
# the line process.roles=broker of server.properties.
set -eu
properties=/var/lib/kraft/server.properties
env | sed -n 's/^KRAFT_\([A-Z_]*\)=/\1 /p' | while read -r name value; do
    printf '%s=%s\n' "$(printf %s "$name" | tr 'A-Z_' 'a-z.')" "$value"
done >"$properties"
export PYTHONPATH=/opt/kraft:/opt/kraft/site
exec python3 -m nodes.kraft --config "$properties"
