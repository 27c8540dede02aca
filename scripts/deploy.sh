#!/usr/bin/env bash
# Checks what is in deploy/, as far as that can be done without the engines that it is for.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: scripts/deploy.sh HOOKONCE

Lints the image, the compose file, the unit, the manifest, the dashboard and the rules, runs the rules'
own tests, compares every metric that they name with the reference, and has the program HOOKONCE check
both configurations. The linters come from PyPI, under target/deploy-tools.
TEXT
}

case ${1-} in
    '') usage >&2; exit 2 ;;
    -h | --help) usage; exit ;;
esac
hookonce=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
for command in python3 promtool systemd-analyze; do
    command -v "$command" >/dev/null || {
        echo "scripts/deploy.sh: the command \`$command\` is missing: \`scripts/test.sh\` installs it" >&2
        exit 1
    }
done
tools=$PWD/target/deploy-tools
if ! cmp -s scripts/deploy/requirements.txt "$tools/made-from"; then
    rm -rf "$tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check -r scripts/deploy/requirements.txt
    cp scripts/deploy/requirements.txt "$tools/made-from"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$tools/bin/hadolint" --failure-threshold style deploy/docker/Dockerfile

# Its secrets have to be there.
mkdir -p "$work/context/deploy"
cp -r deploy/docker "$work/context/deploy/"
mkdir -p "$work/context/deploy/docker/secrets"
for name in db-password ops-token whatsapp-app-secret whatsapp-verify-token; do
    echo made-up >"$work/context/deploy/docker/secrets/$name"
done
"$tools/bin/docker-compose" -f "$work/context/deploy/docker/compose.yaml" config --quiet

# It wants the program to be there, so it is given another; and it tells of keys that it doesn't know
# without failing.
mkdir "$work/unit"
sed 's#/usr/local/bin/hookonce#/bin/true#' deploy/systemd/hookonce.service >"$work/unit/hookonce.service"
said=$(systemd-analyze verify "$work/unit/hookonce.service" 2>&1) || true
[[ -z $said ]] || { echo "$said" >&2; exit 1; }
# Of 100, which is not confined at all.
systemd-analyze security --offline=yes --threshold=15 --no-pager deploy/systemd/hookonce.service >/dev/null

for version in 1.30 1.34 1.37; do
    "$tools/bin/kubernetes-validate" --quiet --strict -k "$version" deploy/kubernetes/hookonce.yaml
done

promtool check rules --lint=all deploy/prometheus/rules.yaml
promtool test rules deploy/prometheus/rules_test.yaml
"$tools/bin/python" scripts/deploy/dashboard.py
"$tools/bin/yamllint" --strict -d '{extends: default, rules: {line-length: {max: 130},
    document-start: disable, comments: {min-spaces-from-content: 1}}}' deploy

"$tools/bin/python" scripts/deploy/check.py "$work/dashboard-rules.yaml"
promtool check rules "$work/dashboard-rules.yaml"
# Either store is elsewhere: the rest is checked on another.
for name in compose kubernetes; do
    HOOKONCE_STORE="sqlite:$work/$name/hookonce.db" "$hookonce" --config "$work/$name/hookonce.toml" check
done
