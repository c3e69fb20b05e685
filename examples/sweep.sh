#!/usr/bin/env bash
# The same fit over many files, several at once.
#
#   examples/sweep.sh results.csv sample_data/linear.csv sample_data/network.csv
#
# JOBS files at a time (default: one per core), each on one thread; OPTIONS goes to `enrelm fit` (default: --target y).
# results.csv has one header and a line for each file, in the order of the command line. With GNU parallel the line with
# xargs becomes: parallel --null -P "$jobs" one {#} {}
set -euo pipefail

if [ $# -lt 2 ]; then
    echo "usage: [JOBS=4] [OPTIONS='--target y'] $0 RESULTS.csv DATA..." >&2
    exit 2
fi
results=$1
shift
jobs=${JOBS:-$(getconf _NPROCESSORS_ONLN)}
parts=$(mktemp -d)
trap 'rm -rf "$parts"' EXIT

export parts OPTIONS="${OPTIONS:---target y}"
one() {
    # shellcheck disable=SC2086  # options are words
    enrelm fit "$2" $OPTIONS --threads 1 -q --format csv >"$parts/$(printf %06d "$1")"
}
export -f one

number=0
for file in "$@"; do
    number=$((number + 1))
    printf '%s\0%s\0' "$number" "$file"
done | xargs -0 -n 2 -P "$jobs" bash -c 'one "$@"' sweep

awk 'FNR > 1 || !header { print; header = 1 }' "$parts"/* >"$results"
