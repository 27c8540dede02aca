#!/usr/bin/env bash
# Kills the program again and again while requests come in, and checks what is left.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: scripts/crash.sh [ROUNDS]

Runs the crash tests with the release build: senders post signed requests, the program is killed at
a random instant and started again, ROUNDS times (100 by default); at the end every acked event must
be handled exactly once. Shows each round, and the seed at the start and with a failure.

  HOOKONCE_SEED=N  repeats the random choices of an earlier run
TEXT
}

case ${1-} in
    -h | --help) usage; exit ;;
    *[!0-9]*) usage >&2; exit 2 ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export HOOKONCE_ROUNDS=${1:-100}
cargo test --release --locked -p hookonce-server --test it -- \
    crash::rounds --nocapture --test-threads 1
echo "== nothing was lost or doubled in $HOOKONCE_ROUNDS rounds"
