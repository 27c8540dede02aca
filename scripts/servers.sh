#!/usr/bin/env bash
# Starts the servers that tests need, on free ports in a temporary folder, runs a command, and cleans up.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: scripts/servers.sh COMMAND…

Runs COMMAND with a private PostgreSQL beside it, whose address is in HOOKONCE_TEST_POSTGRES, and ends
the server afterwards. Such as: scripts/servers.sh cargo test -p hookonce
TEXT
}

case ${1-} in
    '') usage >&2; exit 2 ;;
    -h | --help) usage; exit ;;
esac

binaries=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[[ -n $binaries ]] || binaries=$(dirname "$(command -v initdb || true)")
[[ -x $binaries/initdb ]] || {
    echo "scripts/servers.sh: there is no PostgreSQL server: install the package \`postgresql\`" >&2
    exit 1
}

work=$(mktemp -d)
chmod 755 "$work"
as_server() { "$@"; }
if [[ $(id -u) == 0 ]]; then
    # The server refuses to run as root.
    chown postgres "$work"
    as_server() { setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@"; }
fi
stop() {
    as_server "$binaries/pg_ctl" -D "$work/data" -m immediate -w stop >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap stop EXIT

cd "$work"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
as_server "$binaries/initdb" -D "$work/data" -U postgres -A trust -E UTF8 --no-sync >/dev/null
cat >>"$work/data/postgresql.conf" <<TEXT
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = '$work'
max_connections = 400
shared_buffers = 64MB
TEXT
as_server "$binaries/pg_ctl" -D "$work/data" -l "$work/log" -w start >/dev/null
export HOOKONCE_TEST_POSTGRES=postgres://postgres@127.0.0.1:$port
cd - >/dev/null
"$@"
