#!/usr/bin/env bash
# Starts a Redis Cluster for tests: three primaries with a replica each, six processes on free ports.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: scripts/redis-cluster.sh FOLDER [SETTING VALUE]…

Keeps everything of the cluster in FOLDER, which must be empty, and prints the six addresses with a comma
between two. The processes go on: end them by their ids, which are in FOLDER/pids.
Such as: scripts/redis-cluster.sh "$(mktemp -d)" --cluster-node-timeout 1000
TEXT
}

case ${1-} in
    '') usage >&2; exit 2 ;;
    -h | --help) usage; exit ;;
esac
folder=$1
shift

command -v redis-server >/dev/null || {
    echo "scripts/redis-cluster.sh: there is no Redis server: install the package \`redis-server\`" >&2
    exit 1
}

free_ports() {
    python3 - <<'TEXT'
import socket
sockets = [socket.socket() for _ in range(12)]
for s in sockets:
    s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in sockets))
TEXT
}
end_all() {
    local pid
    while read -r pid; do
        kill -KILL "$pid" 2>/dev/null || true
    done <"$folder/pids"
}
start_all() {
    local n port
    : >"$folder/pids"
    read -ra ports < <(free_ports)
    for n in {0..5}; do
        port=${ports[n]}
        rm -rf "${folder:?}/$n"
        mkdir -p "$folder/$n"
        redis-server --port "$port" --bind 127.0.0.1 --dir "$folder/$n" --save '' --loglevel warning \
            --cluster-enabled yes --cluster-port "${ports[n + 6]}" --repl-diskless-sync-delay 0 \
            "${@}" >"$folder/$n/log" 2>&1 &
        echo $! >>"$folder/pids"
    done
    for n in {0..5}; do
        for _ in {1..100}; do
            redis-cli -p "${ports[n]}" ping >/dev/null 2>&1 && continue 2
            sleep 0.05
        done
        return 1
    done
}

# Another program may take a port before a server does.
for _ in {1..5}; do
    start_all "$@" && break
    end_all
done
addresses=("${ports[@]:0:6}")
addresses=("${addresses[@]/#/127.0.0.1:}")
redis-cli --cluster create "${addresses[@]}" --cluster-replicas 1 --cluster-yes >"$folder/log" || {
    cat "$folder/log" >&2
    end_all
    exit 1
}
# Every node has to know that the cluster is whole, and every replica to have what its primary has.
is_part() {
    redis-cli -p "$1" cluster info | grep -q cluster_state:ok &&
        redis-cli -p "$1" info replication | grep -qE 'role:master|master_link_status:up'
}
for port in "${ports[@]:0:6}"; do
    for _ in {1..400}; do
        is_part "$port" && continue 2
        sleep 0.05
    done
    echo "scripts/redis-cluster.sh: the cluster did not become whole" >&2
    end_all
    exit 1
done
IFS=,
echo "${addresses[*]}"
