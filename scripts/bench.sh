#!/usr/bin/env bash
# Measures what hookonce costs on this machine.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: scripts/bench.sh [REQUESTS]

Measures the release build, and prints

  - ingest: REQUESTS (100 000 by default) signed requests over 64 connections, to SQLite, to
    PostgreSQL, to Redis with `appendfsync everysec` and `always`, to a store that does nothing, and to
    receivers in Express with pg and with ioredis and BullMQ: requests/s, p50 and p99, CPU of server and
    database, fsyncs, bytes of log and dead tuples per event, the ratios;
  - work: stored events per second through a `sql` step, and through insert, claim and finish, peak
    memory, what a claim costs among few and among very many tasks, on each store; what events and keys
    take of Redis's memory;
  - idle: the CPU time that the program takes with nothing to do.

Takes about ten minutes after the build, and at most half an hour. Starts a PostgreSQL and a Redis of its
own, which have to be installed, as Node has to be for the receivers in Express. Counts fsyncs with strace, which it
installs where it may. Run it on a machine that does nothing else.
TEXT
}

# Installs strace if this user may; without it fsyncs are not counted.
may_install_strace() {
    if command -v strace >/dev/null || ! command -v apt-get >/dev/null; then return; fi
    local as_root=()
    if [[ $(id -u) != 0 ]]; then as_root=(sudo -n); fi
    "${as_root[@]}" true 2>/dev/null || return 0
    echo "== installing strace"
    { "${as_root[@]}" apt-get update -qq &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qqy \
            --no-install-recommends strace; } >/dev/null 2>&1 || true
}

# CPU time that a process has taken, in ticks.
cpu_ticks() {
    local stat
    stat=$(<"/proc/$1/stat")
    # The name, in parentheses, may hold anything: what counts stands behind it.
    read -ra stat <<<"${stat##*) }"
    echo $((stat[11] + stat[12]))
}

case ${1-} in
    -h | --help) usage; exit ;;
    *[!0-9]* | 0) usage >&2; exit 2 ;;
esac
if (($# > 1)); then usage >&2; exit 2; fi
requests=${1:-100000}
idle_seconds=30

cd "$(dirname "${BASH_SOURCE[0]}")/.."
may_install_strace
cargo build --release --locked -p hookonce-server
cargo bench --locked -p hookonce --no-run

folder=$(mktemp -d)
server=
clean_up() {
    if [[ -n $server ]]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$folder"
}
trap clean_up EXIT
export TMPDIR=$folder

if command -v npm >/dev/null; then
    for peer in bench/peers/*/; do
        npm ci --prefix "$peer" --no-audit --no-fund >/dev/null
    done
fi

echo "== ingest, $requests requests"
timeout -k 10 900 scripts/servers.sh cargo bench -q --locked -p hookonce --bench ingest -- "$requests"

echo "== work"
timeout -k 10 900 scripts/servers.sh cargo bench -q --locked -p hookonce --bench work

echo "== idle, $idle_seconds s"
program=$(cargo metadata --format-version 1 --no-deps --offline |
    sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release/hookonce
mkdir "$folder/idle"
cd "$folder/idle"
env -u HOOKONCE_CONFIG -u HOOKONCE_STORE "$program" serve --listen 127.0.0.1:0 \
    >/dev/null 2>"$folder/said" &
server=$!
for _ in {1..100}; do
    if grep -q 'listens on' "$folder/said"; then break; fi
    sleep 0.1
done
grep -q 'listens on' "$folder/said" || { cat "$folder/said" >&2; exit 1; }
# What starting takes is not idling.
sleep 3
before=$(cpu_ticks "$server")
sleep "$idle_seconds"
after=$(cpu_ticks "$server")
awk -v ticks=$((after - before)) -v hz="$(getconf CLK_TCK)" -v seconds="$idle_seconds" \
    'BEGIN { printf "%.2f %% of a core\n", 100 * ticks / hz / seconds }'
