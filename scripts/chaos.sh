#!/usr/bin/env bash
# Breaks everything around three nodes on one server while requests come in, and checks what is left.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: scripts/chaos.sh [SECONDS]

Runs each chaos test with the release build for SECONDS (600 by default), on PostgreSQL and on Redis:
three nodes under load, while in random turn a node is killed and started again, the server is stopped
or killed and started, connections are cut, and the network between is held up. At the end every acked
event must have its effect, on PostgreSQL exactly once, in the order of acks, and no two claims may have
been beside one another.

  HOOKONCE_SEED=N  repeats the random choices of an earlier run
TEXT
}

case ${1-} in
    -h | --help) usage; exit ;;
    *[!0-9]* | 0) usage >&2; exit 2 ;;
esac
if (($# > 1)); then usage >&2; exit 2; fi

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export HOOKONCE_SECONDS=${1:-600}
scripts/servers.sh cargo test --release --locked -p hookonce-server --test it -- \
    chaos::troubles chaos::redis --nocapture --test-threads 1
echo "== nothing was lost, doubled or out of order in $HOOKONCE_SECONDS s of chaos on either"
