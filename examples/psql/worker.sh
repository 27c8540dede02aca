#!/usr/bin/env bash
# A worker with nothing but psql: books what is due, each event once, and ends when nothing is.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: examples/psql/worker.sh DATABASE ROUTE LONG_ROUTE

Handles what is due of ROUTE by short.sql and of LONG_ROUTE by long.sql. Both routes have
`worker = "external"`; DATABASE is where hookonce keeps its events, an address such as
postgres://shop@127.0.0.1/shop, whose role is a member of `hookonce_worker`. The effects go into a table
of the same database, such as

  create table ledger (event_id uuid, entry text, note text, primary key (event_id, entry));
TEXT
}

case $# in
    3) ;;
    *) usage >&2; exit 2 ;;
esac
here=$(dirname "${BASH_SOURCE[0]}")

# Handles one event; says which, or nothing where none is due. An error ends psql, and with its
# connection whatever was not committed: the task is tried again when its lease has ended.
handle() {
    psql --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 \
        --set worker="psql-$$" --set route="$2" --file "$here/$1" "$3"
}

for case in "short.sql $2" "long.sql $3"; do
    read -r file route <<<"$case"
    while true; do
        handled=$(handle "$file" "$route" "$1") || exit 1
        [[ -n $handled ]] || break
        echo "$handled"
    done
done
