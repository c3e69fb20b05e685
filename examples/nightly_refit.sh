#!/usr/bin/env bash
# Refit a model every night, but only let a good one through.
#
#   examples/nightly_refit.sh sample_data/friedman.csv y model.joblib 0.5
#
# `enrelm fit --fail-above` saves nothing when the validation error is above the bar, and a model file is replaced whole
# or not at all: whoever predicts meanwhile sees the old model or the new one, never half of either. The model before
# this one is kept as model.joblib.previous. Exit codes are enrelm's: 0 replaced, 5 the gate is closed and the old model
# stays, others an error (and the old model stays).
set -uo pipefail

if [ $# -lt 4 ]; then
    echo "usage: $0 DATA TARGET MODEL BAR [options of enrelm fit]" >&2
    exit 2
fi
data=$1 target=$2 model=$3 bar=$4
shift 4

say() { echo "$(date '+%Y-%m-%d %H:%M:%S') $*"; }

# Not twice at once: a long fit may still run when the next night comes.
exec 9>"$model.lock"
if ! flock --nonblock 9; then
    say "another refit of $model is running"
    exit 1
fi

if [ -e "$model" ]; then
    cp -p "$model" "$model.before"
fi
result=$(enrelm fit "$data" --target "$target" --fail-above "$bar" -q --format csv -o "$model" "$@")
code=$?
case $code in
0)
    if [ -e "$model.before" ]; then
        mv "$model.before" "$model.previous"
    fi
    say "replaced $model: $(echo "$result" | tail -n 1)"
    ;;
5) say "kept the old $model: the new one is not good enough" ;;
*) say "kept the old $model: enrelm ended with $code" ;;
esac
rm -f "$model.before"
exit $code
