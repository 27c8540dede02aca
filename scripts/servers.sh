#!/usr/bin/env bash
# Starts the servers that tests need, on free ports in a temporary folder, runs a command, and cleans up.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: scripts/servers.sh COMMAND…

Runs COMMAND with a private PostgreSQL, a PgBouncer in front of it, a Redis Cluster and a RabbitMQ, whose
addresses are in HOOKONCE_TEST_POSTGRES, HOOKONCE_TEST_PGBOUNCER, HOOKONCE_TEST_REDIS_CLUSTER and
HOOKONCE_TEST_AMQP, and ends all afterwards. RabbitMQ takes a while: COMMAND begins before it listens.
Such as: scripts/servers.sh cargo test -p hookonce
TEXT
}

case ${1-} in
    '') usage >&2; exit 2 ;;
    -h | --help) usage; exit ;;
esac

# Where some servers are only root looks.
export PATH=$PATH:/usr/sbin

binaries=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[[ -n $binaries ]] || binaries=$(dirname "$(command -v initdb || true)")
[[ -x $binaries/initdb ]] || {
    echo "scripts/servers.sh: there is no PostgreSQL server: install the package \`postgresql\`" >&2
    exit 1
}
command -v pgbouncer >/dev/null || {
    echo "scripts/servers.sh: there is no PgBouncer: install the package \`pgbouncer\`" >&2
    exit 1
}
command -v epmd >/dev/null && [[ -d /usr/lib/rabbitmq ]] || {
    echo "scripts/servers.sh: there is no RabbitMQ: install the package \`rabbitmq-server\`" >&2
    exit 1
}

scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
chmod 755 "$work"
as_server() { "$@"; }
if [[ $(id -u) == 0 ]]; then
    # The server refuses to run as root.
    chown postgres "$work"
    as_server() { setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@"; }
fi
stop() {
    # Neither is asked to tidy up: what they have goes with the folder.
    kill -9 "${rabbitmq-}" "${epmd-}" 2>/dev/null || true
    wait "${rabbitmq-}" "${epmd-}" 2>/dev/null || true
    [[ ! -f $work/pgbouncer.pid ]] || kill "$(<"$work/pgbouncer.pid")" || true
    as_server "$binaries/pg_ctl" -D "$work/data" -m immediate -w stop >/dev/null 2>&1 || true
    [[ -z ${cluster-} ]] || wait "$cluster" || true
    [[ ! -f $work/redis/pids ]] || xargs kill -KILL <"$work/redis/pids" 2>/dev/null || true
    rm -rf "$work"
}
trap stop EXIT

cd "$work"
# Its nodes take a while to meet.
mkdir redis
"$scripts/redis-cluster.sh" "$work/redis" >redis/addresses &
cluster=$!
free_ports() {
    python3 - <<'TEXT'
import socket
sockets = [socket.socket() for _ in range(4)]
for s in sockets:
    s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in sockets))
TEXT
}
read -r port bouncer_port amqp_port epmd_port < <(free_ports)

mkdir "$work/rabbitmq"
# As little as may be one message, so that a test can have one that is refused.
echo 'max_message_size = 2097152' >"$work/rabbitmq/rabbitmq.conf"
ERL_EPMD_ADDRESS=127.0.0.1 epmd -port "$epmd_port" >/dev/null 2>&1 &
epmd=$!
# A RabbitMQ that finds none starts one of its own, which would stay.
for _ in {1..100}; do
    (echo >"/dev/tcp/127.0.0.1/$epmd_port") 2>/dev/null && break
    sleep 0.1
done
"$scripts/rabbitmq.sh" "$work/rabbitmq" "$amqp_port" "$epmd_port" >"$work/rabbitmq/said" 2>&1 &
rabbitmq=$!
export HOOKONCE_TEST_AMQP=amqp://guest:guest@127.0.0.1:$amqp_port
# For tests that start and stop a RabbitMQ of their own.
export HOOKONCE_TEST_EPMD=$epmd_port

as_server "$binaries/initdb" -D "$work/data" -U postgres -A trust -E UTF8 --no-sync >/dev/null
cat >>"$work/data/postgresql.conf" <<TEXT
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = '$work'
max_connections = 400
shared_buffers = 256MB
TEXT
as_server "$binaries/pg_ctl" -D "$work/data" -l "$work/log" -w start >/dev/null
# For tests that start and stop a server of their own.
export HOOKONCE_TEST_POSTGRES_BIN=$binaries
export HOOKONCE_TEST_POSTGRES=postgres://postgres@127.0.0.1:$port

# Transaction mode, and two connections a database: what relies on a session breaks soon.
echo '"postgres" ""' >"$work/users.txt"
cat >"$work/pgbouncer.ini" <<TEXT
[databases]
* = host=127.0.0.1 port=$port
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $bouncer_port
unix_socket_dir =
logfile = $work/pgbouncer.log
pidfile = $work/pgbouncer.pid
auth_type = trust
auth_file = $work/users.txt
pool_mode = transaction
default_pool_size = 2
max_client_conn = 1000
TEXT
chmod 644 "$work/users.txt" "$work/pgbouncer.ini"
as_server pgbouncer -q -d "$work/pgbouncer.ini"
for _ in {1..50}; do
    (echo >"/dev/tcp/127.0.0.1/$bouncer_port") 2>/dev/null && break
    sleep 0.1
done
export HOOKONCE_TEST_PGBOUNCER=postgres://postgres@127.0.0.1:$bouncer_port
wait "$cluster"
HOOKONCE_TEST_REDIS_CLUSTER=redis+cluster://$(<"$work/redis/addresses")
export HOOKONCE_TEST_REDIS_CLUSTER
cd - >/dev/null
"$@"
