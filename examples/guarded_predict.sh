#!/usr/bin/env bash
# Predict today's file, but keep predictions of a table unlike the training table apart.
#
#   examples/guarded_predict.sh model.joblib sample_data/friedman_new.csv today.csv 0.2
#
# `enrelm predict --fail-drift 0.2` compares each column with what it was at fit (population stability index, less what
# chance gives for so few rows). It writes its predictions in any case and ends with 6 where a column has drifted: they
# are then kept as today.csv.drifted, beside today.csv.report.json, which says which columns and how far. Whoever reads
# today.csv sees the last good file. Exit codes are enrelm's.
set -uo pipefail

if [ $# -lt 4 ]; then
    echo "usage: $0 MODEL DATA OUTPUT PSI [options of enrelm predict]" >&2
    exit 2
fi
model=$1 data=$2 output=$3 psi=$4
shift 4

say() { echo "$(date '+%Y-%m-%d %H:%M:%S') $*"; }

enrelm predict "$model" "$data" --format csv --fail-drift "$psi" --report "$output.report.json" -q -o "$output.new" "$@"
code=$?
case $code in
0)
    mv "$output.new" "$output"
    rm -f "$output.drifted"
    say "replaced $output"
    ;;
6)
    mv "$output.new" "$output.drifted"
    say "kept the old $output: $data has drifted, see $output.report.json"
    ;;
*)
    rm -f "$output.new"
    say "kept the old $output: enrelm ended with $code"
    ;;
esac
exit $code
