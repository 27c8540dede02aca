#!/usr/bin/env bash
# Searches for bytes that break what must hold for any.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: scripts/fuzz.sh [--seconds N] [--minimise] [TARGET…]

Runs each target of fuzz/ (all of them by default) for N seconds (60 by default), beginning with its
corpus, the vectors of the schemes, and what earlier runs found under target/fuzz/found. Prints how
often each ran, how often a second, how many branches were covered, and what broke it: exit code 1
then, and the file to keep in its corpus.

  --minimise  chooses the corpus in fuzz/corpus anew: the smallest inputs of all that cover as much

Installs cargo-fuzz if it is missing. Needs a C++ compiler, which builds libFuzzer.
TEXT
}

fail() {
    echo "scripts/fuzz.sh: $*" >&2
    exit "${2-1}"
}

# The most files that are chosen for the corpus of one target, of which all together the tests read no
# more than 300, and the most bytes of one of them.
most_files=22
most_bytes=2048

seconds=60
minimise=
targets=()
while (($# > 0)); do
    case $1 in
        -h | --help) usage; exit ;;
        --minimise) minimise=yes ;;
        --seconds)
            [[ ${2-} =~ ^[1-9][0-9]*$ ]] || { usage >&2; exit 2; }
            seconds=$2
            shift
            ;;
        -*) usage >&2; exit 2 ;;
        *) targets+=("$1") ;;
    esac
    shift
done

cd "$(dirname "${BASH_SOURCE[0]}")/.."
all=$(basename -s .rs fuzz/fuzz_targets/*.rs)
for target in "${targets[@]}"; do
    [[ -f fuzz/fuzz_targets/$target.rs ]] || { echo "no target \`$target\`; there are:" $all >&2; exit 2; }
done
((${#targets[@]} > 0)) || mapfile -t targets <<<"$all"

command -v cargo >/dev/null || fail "there is no cargo: install Rust from https://rustup.rs"
command -v c++ >/dev/null || fail "there is no C++ compiler: install the package \`g++\`"
cargo fuzz --version >/dev/null 2>&1 || cargo install --locked cargo-fuzz

# The versions that the program is built with, and nothing else but the fuzzer beside them.
cp Cargo.lock fuzz/Cargo.lock
# Without a sanitizer any stable toolchain will do, for only `-Zsanitizer` is unstable: coverage comes
# by options of LLVM. There is no unsafe code here for one to look at.
options=(--fuzz-dir fuzz --target-dir target/fuzz --sanitizer none)
cargo fuzz build "${options[@]}"

folder=target/fuzz
mkdir -p "$folder"
# The binaries themselves: `cargo fuzz run` would look for what to build again and hides exit codes.
programs=$folder/$(rustc -vV | sed -n 's/^host: //p')/release

# The vectors: the requests, and the events beside them, which are JSON as well.
vectors=$(mktemp -d)
trap 'rm -rf "$vectors"' EXIT
for events in crates/hookonce/tests/it/*/*.events.json; do
    scheme=$(basename "$(dirname "$events")")
    for file in "${events%.events.json}".*; do
        cp "$file" "$vectors/$scheme-$(basename "$file")"
    done
done

# Leaves as few inputs as cover what all of them cover and the vectors don't.
choose_corpus() {
    local target=$1 chosen
    chosen=$(mktemp -d)
    cp "$vectors"/* "$chosen"
    # Branches alone: how often each was taken would keep ten times the files.
    "$programs/$target" -set_cover_merge=1 -use_counters=0 -max_len=$most_bytes -rss_limit_mb=4096 \
        "$chosen" "fuzz/corpus/$target" "$folder/found/$target" >"$folder/$target.merge.log" 2>&1
    for vector in "$vectors"/*; do
        rm "$chosen/$(basename "$vector")"
    done
    find "fuzz/corpus/$target" -type f ! -name 'by_hand_*' ! -name 'found_*' -delete
    # They were written in the order of how much each adds.
    find "$chosen" -type f -printf '%T@ %p\n' | sort -n | sed "1,${most_files}!d" | cut -d' ' -f2 |
        while read -r file; do
            cp "$file" "fuzz/corpus/$target/"
        done
    rm -rf "$chosen"
}

broken=()
printf '%-16s %12s %10s %9s %8s  %s\n' target executions a_second branches inputs broken
for target in "${targets[@]}"; do
    mkdir -p "$folder/found/$target" "$folder/broken/$target" "fuzz/corpus/$target"
    dictionary=()
    [[ ! -f fuzz/dictionaries/$target.dict ]] || dictionary=("-dict=fuzz/dictionaries/$target.dict")
    # It ends by itself; the time beyond is for an input that hangs and can't be stopped otherwise.
    status=0
    timeout -k 10 $((seconds + 120)) "$programs/$target" "${dictionary[@]}" \
        -max_total_time="$seconds" -max_len=16384 -timeout=20 -rss_limit_mb=4096 \
        -print_final_stats=1 -artifact_prefix="$folder/broken/$target/" \
        "$folder/found/$target" "fuzz/corpus/$target" "$vectors" \
        >"$folder/$target.log" 2>&1 || status=$?
    stat() { sed -n "s/^stat::$1: *//p" "$folder/$target.log" | tail -n 1; }
    last() { grep -o "$1: [0-9]*" "$folder/$target.log" | tail -n 1 | cut -d' ' -f2 || true; }
    file=
    if ((status != 0)); then
        file=$(sed -n 's/.*Test unit written to //p' "$folder/$target.log" | tail -n 1)
        broken+=("$target: ${file:-no file, exit code $status}; see $folder/$target.log")
    fi
    printf '%-16s %12s %10s %9s %8s  %s\n' "$target" "$(stat number_of_executed_units)" \
        "$(stat average_exec_per_sec)" "$(last cov)" "$(last corp)" "${file:--}"
    [[ -z $minimise ]] || choose_corpus "$target"
done

if ((${#broken[@]} > 0)); then
    echo
    for line in "${broken[@]}"; do
        echo "$line"
    done
    echo "mend it, and keep the file as fuzz/corpus/TARGET/found_WHAT, which every test run replays"
    exit 1
fi
