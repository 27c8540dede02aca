#!/usr/bin/env bash
# Becomes a RabbitMQ server that keeps to itself: what it is and has stands in one folder.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: scripts/rabbitmq.sh FOLDER PORT EPMD_PORT

Becomes a RabbitMQ server on 127.0.0.1:PORT whose data, cookie and log are in FOLDER, under the port
mapper of Erlang (`epmd`) at EPMD_PORT. What FOLDER/rabbitmq.conf says is added to its settings. The
tests call it, and scripts/servers.sh, which starts the port mapper.
TEXT
}

case ${1-} in
    -h | --help) usage; exit ;;
esac
[[ $# == 3 ]] || { usage >&2; exit 2; }
folder=$1 port=$2

# The package's own command would hand over to the system's user and folders.
server=$(ls /usr/lib/rabbitmq/lib/*/sbin/rabbitmq-server /usr/lib/rabbitmq/bin/rabbitmq-server 2>/dev/null | head -n 1)
[[ -n $server ]] || {
    echo "scripts/rabbitmq.sh: there is no RabbitMQ: install the package \`rabbitmq-server\`" >&2
    exit 1
}
free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

mkdir -p "$folder"
cd "$folder"
touch rabbitmq.conf
echo '[].' >plugins
export HOME=$folder
export ERL_EPMD_PORT=$3
export RABBITMQ_NODENAME=hookonce$port@localhost
export RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 RABBITMQ_NODE_PORT=$port RABBITMQ_DIST_PORT=$(free_port)
export RABBITMQ_MNESIA_BASE=$folder/data RABBITMQ_LOG_BASE=$folder/log
export RABBITMQ_CONFIG_FILE=$folder/rabbitmq.conf RABBITMQ_CONF_ENV_FILE=$folder/none
export RABBITMQ_ENABLED_PLUGINS_FILE=$folder/plugins
# One scheduler that sleeps while there is nothing to do: it shares the machine with the tests.
export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="+S 1:1 +sbwt none -kernel inet_dist_use_interface {127,0,0,1}"
# Without a shell around it, so that signals come to the server itself.
export RUNNING_UNDER_SYSTEMD=1
exec "$server"
