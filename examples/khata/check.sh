#!/usr/bin/env bash
# Sends one text twenty times at once to two nodes, kills one of them, and counts what was booked.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: examples/khata/check.sh [ROUNDS]

Each round (one by default) posts one signed text twenty times at once, half to each of two nodes, and
kills one of them meanwhile, after a random number of answers. What the kill broke off is posted again,
as a sender would. There has to be one posting with its debit and credit, and one confirmation. Exits 1
if not.

  DATABASE_URL  a PostgreSQL where a database can be made for the time; a private server without it
  HOOKONCE      the program; without it the release build, so `cargo build --release` first
TEXT
}

case ${1-} in
    -h | --help) usage; exit ;;
    0 | *[!0-9]*) usage >&2; exit 2 ;;
esac
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rounds=${1:-1}

fail() {
    echo "examples/khata/check.sh: $*" >&2
    exit 1
}

HOOKONCE=$(realpath -m "${HOOKONCE:-$here/../../target/release/hookonce}")
[[ -x $HOOKONCE ]] || fail "there is no program \`$HOOKONCE\`: run \`cargo build --release\`, or set HOOKONCE"
for command in curl psql python3; do
    command -v "$command" >/dev/null || fail "the command \`$command\` is missing: install it"
done
if [[ -z ${DATABASE_URL-} ]]; then
    export HOOKONCE
    # The server is at that address; its first database is there to connect to.
    exec "$here/../../scripts/servers.sh" bash -c \
        'DATABASE_URL=$HOOKONCE_TEST_POSTGRES/postgres exec "$@"' check "$here/check.sh" "$rounds"
fi

work=$(mktemp -d)
declare -A process=()
server=$DATABASE_URL
name=khata_check_$$
stop() {
    for pid in "${process[@]}"; do
        kill -KILL "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    ask "$server" -c "drop database if exists $name with (force)" || true
    rm -rf "$work"
}
trap stop EXIT

# Asks a database, and prints the bare answer.
ask() {
    PGOPTIONS='-c client_min_messages=warning' \
        psql --no-psqlrc --quiet --tuples-only --no-align -v ON_ERROR_STOP=1 "$@"
}

# Waits up to a minute until the rest succeeds, and says in vain for what.
wait_for() {
    local what=$1 until=$((SECONDS + 60))
    shift
    until "$@"; do
        ((SECONDS < until)) || fail "waited in vain until $what; the nodes say:
$(tail -n 20 "$work"/*.log)"
        sleep 0.01
    done
}

# The address that a process says it has, once it says so.
address() { sed -n 's/.*\(http:\/\/127.0.0.1:[0-9]*\).*/\1/p;T;q' "$work/$1.log"; }
has_address() { [[ -n $(address "$1") ]]; }

start_node() {
    : >"$work/$1.log"
    "$HOOKONCE" serve --config "$work/hookonce.toml" \
        --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 2>>"$work/$1.log" >&2 &
    process[$1]=$!
    wait_for "node $1 listens" has_address "$1"
}

# Posts the text of a file to a node; prints the status of the answer, 000 where there was none.
post() {
    curl -sS -o /dev/null -w '%{http_code}\n' -m 30 -H 'content-type: application/json' \
        -H "x-hub-signature-256: $signature" --data-binary "@$1" "$2/webhooks/whatsapp" 2>/dev/null || true
}

sign() {
    "$HOOKONCE" sign --json --config "$work/hookonce.toml" --source whatsapp "$1" |
        python3 -c 'import json, sys; h = json.load(sys.stdin)["headers"]
print(next(h[n] for n in h if n.lower() == "x-hub-signature-256"))'
}

of_event="from hookonce.events where key = 'message:200000000000001:"
is_done() {
    [[ $(ask "$DATABASE_URL" -c "select count(*) > 0 and bool_and(state in ('completed', 'dead'))
        from hookonce.tasks where event_id in (select id $of_event$1')") == t ]]
}
has_answers() { (($(cat "$work"/status.* | wc -l) >= $1)); }

# One round: prints what was found, and fails where it is not one of each.
run_round() {
    local id=wamid.KHATA.$1 body=$work/message.$1.json victim n found lapsed
    sed "s/wamid.KHATA0001/$id/" "$here/message.json" >"$body"
    signature=$(sign "$body")
    victim=$((RANDOM % 2 + 1))
    local urls=('' "$(address node1)" "$(address node2)") posts=()
    rm -f "$work"/status.*
    for n in {1..10}; do
        post "$body" "${urls[1]}" >"$work/status.1.$n" &
        posts+=($!)
        post "$body" "${urls[2]}" >"$work/status.2.$n" &
        posts+=($!)
    done
    wait_for "enough answers have come" has_answers $((RANDOM % 10))
    kill -KILL "${process[node$victim]}"
    wait "${process[node$victim]}" 2>/dev/null || true
    wait "${posts[@]}"
    local lives=$((3 - victim)) broken
    if grep -qvx 200 "$work/status.$lives".*; then
        fail "WRONG: the node that lives did not answer 200"
    fi
    if grep -qvxE '200|000' "$work/status.$victim".*; then
        fail "WRONG: an answer was neither 200 nor broken off"
    fi
    broken=$(cat "$work/status.$victim".* | grep -c 000 || true)
    for ((n = 0; n < broken; n++)); do
        [[ $(post "$body" "${urls[lives]}") == 200 ]] || fail "WRONG: a copy was not answered 200"
    done
    wait_for "the text is handled" is_done "$id"
    start_node "node$victim"
    found=$(ask "$DATABASE_URL" -F ' ' -c "select
        (select count(*) $of_event$id'),
        (select count(*) from khata.postings where event_id in (select id $of_event$id')),
        (select count(*) filter (where debit = 120) || '+' || count(*) filter (where credit = 120)
            from khata.entries where event_id in (select id $of_event$id')),
        (select count(*) from hookonce.tasks where state = 'completed'
            and event_id in (select id $of_event$id'))")
    found+=" $(grep -cF "\"$id\"" "$work/outbox" || true)"
    lapsed=$(ask "$DATABASE_URL" -c "select count(*) from hookonce.attempts
        where outcome = 'lapsed' and seq in (select seq $of_event$id')")
    echo "round $1: killed node $victim; posts broken off: $broken of 20; attempts lapsed: $lapsed;" \
        "events, postings, debits+credits, completed, confirmations: $found"
    [[ $found == '1 1 1+1 1 1' ]] || fail "WRONG: it should be 1 1 1+1 1 1"
}

ask "$server" -c "create database $name"
# The same address with another database; what stands behind ? stays.
DATABASE_URL=$(sed -E "s#^([^?]*/)[^/?]*(\?.*)?\$#\1$name\2#" <<<"$server")
export DATABASE_URL HOOKONCE_STORE=$DATABASE_URL
export WHATSAPP_APP_SECRET=a-secret-for-the-check WHATSAPP_VERIFY_TOKEN=a-token-for-the-check
ask "$DATABASE_URL" -f "$here/schema.sql"

: >"$work/whatsapp.log"
python3 "$here/whatsapp.py" 0 "$work/outbox" >"$work/whatsapp.log" 2>&1 &
process[whatsapp]=$!
wait_for "the stand-in for WhatsApp listens" has_address whatsapp
sed "s#http://127.0.0.1:3000#$(address whatsapp)#" "$here/hookonce.toml" >"$work/hookonce.toml"
start_node node1
start_node node2
for ((round = 1; round <= rounds; round++)); do
    run_round "$round"
done

# A text that nobody understands is a note, and answered as well.
signature=$(sign "$here/unclear.json")
[[ $(post "$here/unclear.json" "$(address node1)") == 200 ]] || fail "a text was not answered 200"
wait_for "the note is answered" is_done wamid.KHATA0002
found=$(ask "$DATABASE_URL" -F ' ' -c "select
    (select count(*) from khata.postings), (select count(*) from khata.notes),
    (select sum(debit) - sum(credit) from khata.entries)")
found+=" $(wc -l <"$work/outbox")"
[[ $found == "$rounds 1 0.00 $((rounds + 1))" ]] ||
    fail "WRONG: postings, notes, debit less credit, confirmations are $found"
echo "right: $rounds posted 20 times each, booked once and confirmed once each; 1 note, answered"
