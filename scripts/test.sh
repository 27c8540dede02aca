#!/usr/bin/env bash
# Checks everything that has to hold before a change goes in.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: scripts/test.sh

Checks formatting, lints and documentation with warnings denied, and runs every test, and every
benchmark small. Needs Rust; installs what else is missing where it may (apt-get as root or with sudo
without a password, rustup), and says what to install where it may not. The examples in other
languages get their packages from the registries of npm, Python and Rust, under target/examples.

  HOOKONCE_ROUNDS=100  kills the program so often in each crash test of rounds
  HOOKONCE_SEED=N      repeats the random choices of a failed crash test
TEXT
}

fail() {
    echo "scripts/test.sh: $*" >&2
    exit 1
}

step() {
    echo "== $* (after $SECONDS s)"
    "$@"
}

# Runs a command as root, if this user may.
as_root() {
    if [[ $(id -u) == 0 ]]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

may_be_root() {
    [[ $(id -u) == 0 ]] || { command -v sudo && sudo -n true; } >/dev/null 2>&1
}

# Installs a Debian package unless its command is there.
need() {
    local command=$1 package=$2
    if command -v "$command" >/dev/null; then return; fi
    local missing="the command \`$command\` is missing: install the package \`$package\`"
    if ! command -v apt-get >/dev/null || ! may_be_root; then fail "$missing"; fi
    echo "== installing $package"
    if [[ -z ${is_updated-} ]]; then
        as_root apt-get update -qq || fail "$missing"
        is_updated=yes
    fi
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qqy --no-install-recommends \
        "$package" || fail "$missing"
}

# Installs the PostgreSQL server unless it is there, without a cluster that runs by itself.
need_postgres() {
    if ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then return; fi
    local settings=/etc/postgresql-common/createcluster.d
    if command -v apt-get >/dev/null && may_be_root; then
        as_root mkdir -p "$settings"
        echo 'create_main_cluster = false' | as_root tee "$settings/hookonce-tests.conf" >/dev/null
    fi
    need initdb postgresql
    as_root rm -f "$settings/hookonce-tests.conf"
}

# Installs a server's package unless its command is there, without starting the server.
need_server() {
    local policy=/usr/sbin/policy-rc.d
    # It may be where only root looks for it.
    if PATH=$PATH:/usr/sbin command -v "$1" >/dev/null; then return; fi
    if command -v apt-get >/dev/null && may_be_root && [[ ! -e $policy ]]; then
        trap "as_root rm -f $policy" EXIT
        printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
        as_root chmod +x "$policy"
        need "$@"
        as_root rm -f "$policy"
        trap - EXIT
    else
        need "$@"
    fi
}

# Installs what `python3 -m venv` needs, which Debian has in a package of its own.
need_venv() {
    if python3 -c 'import ensurepip, venv' 2>/dev/null; then return; fi
    need ensurepip python3-venv
}

# Adds a component of the toolchain unless cargo has its command.
need_component() {
    local command=$1 component=$2
    if cargo "$command" --version >/dev/null 2>&1; then return; fi
    local missing="\`cargo $command\` is missing: install it, as with \`rustup component add $component\`"
    command -v rustup >/dev/null || fail "$missing"
    rustup component add "$component" || fail "$missing"
}

case ${1-} in
    '') ;;
    -h | --help) usage; exit ;;
    *) usage >&2; exit 2 ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v cargo >/dev/null || fail "there is no cargo: install Rust from https://rustup.rs"
need curl curl
need cc gcc
# The crash tests limit, pause and kill the program with these.
need prlimit util-linux
# What the program does before it answers is seen in its system calls.
need strace strace
# The tests' own servers: scripts/servers.sh starts them.
need_postgres
need pgbouncer pgbouncer
need redis-server redis-server
need_server rabbitmq-server rabbitmq-server
need_server nats-server nats-server
need python3 python3
# The examples in other languages, which the tests run.
need node nodejs
need npm npm
need_venv
# The dashboard is used in it.
need chromium chromium
# What is in deploy/ is linted with these.
need_server promtool prometheus
need systemd-analyze systemd
# Some nodes run under clocks that are wrong.
need faketime faketime
need_component fmt rustfmt
need_component clippy clippy

work=$(mktemp -d)
# The database server doesn't run as root, and has to get through to its folder.
chmod 711 "$work"
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work

step cargo fmt --all --check
step cargo fmt --manifest-path fuzz/Cargo.toml --check
step cargo clippy --workspace --all-targets --locked -- -D warnings
# Without the sinks whose clients are heavy.
step cargo clippy --workspace --all-targets --locked --no-default-features -- -D warnings
step cargo fmt --manifest-path examples/rust-sqlx/Cargo.toml --check
step cargo clippy --manifest-path examples/rust-sqlx/Cargo.toml --target-dir target/examples/rust-sqlx \
    --locked -- -D warnings
RUSTDOCFLAGS="-D warnings" step cargo doc --workspace --no-deps --locked
step scripts/examples.sh
step scripts/servers.sh cargo test --workspace --locked
# With the program that the tests were run on.
step scripts/deploy.sh "${CARGO_TARGET_DIR:-target}/debug/hookonce"
echo "== all checks passed, in $SECONDS s"
