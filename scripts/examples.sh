#!/usr/bin/env bash
# Installs and builds what the examples in other languages need, and the senders' own libraries, so that
# the tests can run them.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: scripts/examples.sh

Puts the workers of examples/node, examples/python and examples/rust-sqlx, the consumers of
examples/amqp and examples/queues, the libraries by which the tests sign as senders do, the handlers of
bench/peers that the storm is tried on, and what
speaks as SQS to them, with the packages that they name, under target/examples; from the registries, and only what has changed since
it last ran. The tests call it.
TEXT
}

case ${1-} in
    '') ;;
    -h | --help) usage; exit ;;
    *) usage >&2; exit 2 ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."
for command in npm python3 cargo flock; do
    command -v "$command" >/dev/null || {
        echo "scripts/examples.sh: the command \`$command\` is missing: \`scripts/test.sh\` installs it" >&2
        exit 1
    }
done
target=$PWD/target/examples
mkdir -p "$target"
# Two test programs may want it at the same time.
exec 9>"$target/lock"
flock 9

# Whether a folder was made from these very files.
is_made_from() {
    local folder=$1
    shift
    [[ -f $folder/made-from ]] && cat "$@" | cmp -s - "$folder/made-from"
}

# Puts a folder's scripts for Node with their packages under a name.
node() {
    local folder=$1 made=$target/$2
    local from=("$folder/package.json" "$folder/package-lock.json" "$folder/.npmrc")
    if ! is_made_from "$made" "${from[@]}"; then
        rm -rf "$made"
        mkdir "$made"
        cp "${from[@]}" "$made"
        npm ci --prefix "$made" --no-audit --no-fund --loglevel error
        cat "${from[@]}" >"$made/made-from"
    fi
    cp "$folder"/*.js "$made"
}

node examples/node node
node examples/queues queues
node crates/hookonce-server/tests/senders senders
node bench/peers/handlers handlers
node crates/hookonce-server/tests/browser browser

# Makes the environment for a folder's scripts in Python.
python() {
    local from=$1/requirements.txt made=$target/$2
    if ! is_made_from "$made" "$from"; then
        rm -rf "$made"
        python3 -m venv "$made"
        "$made/bin/pip" install --quiet --disable-pip-version-check -r "$from"
        cat "$from" >"$made/made-from"
    fi
}

python examples/python python
python examples/amqp amqp
python examples/queues queues-python
python crates/hookonce/tests/it/sinks/sqs sqs

cargo build --quiet --locked --manifest-path examples/rust-sqlx/Cargo.toml \
    --target-dir "$target/rust-sqlx"
