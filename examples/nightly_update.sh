#!/usr/bin/env bash
# Add tonight's rows to a model, without the rows before; with a gate and a drift alarm.
#
#   examples/nightly_update.sh kept.joblib sample_data/linear.csv 3.0 2.0
#
# The model was fitted with --updatable. Where its error on the new rows is more than DRIFT times its validation error,
# or the updated one's validation error is above BAR, enrelm ends with 5 and the model stays as it was: look at the rows,
# or fit again. Whoever predicts meanwhile sees the old model or the new one, never half of either.
set -uo pipefail

if [ $# -lt 4 ]; then
    echo "usage: $0 MODEL NEW_ROWS DRIFT BAR [options of enrelm update]" >&2
    exit 2
fi
model=$1 rows=$2 drift=$3 bar=$4
shift 4

say() { echo "$(date '+%Y-%m-%d %H:%M:%S') $*"; }

result=$(enrelm update "$model" "$rows" --fail-drift "$drift" --fail-above "$bar" -q --format csv "$@")
code=$?
case $code in
0) say "updated $model: $(echo "$result" | tail -n 1)" ;;
5) say "kept $model: the new rows are unlike those before, or the new model is not good enough" ;;
*) say "kept $model: enrelm ended with $code" ;;
esac
exit $code
