#!/usr/bin/env bash
# A model for each group of a table: one for each town, machine, customer...
#
#   examples/fit_per_group.sh sample_data/houses.csv town price models --drop house_id
#
# writes models/GROUP.csv (its rows), models/GROUP.joblib (its model) and models/summary.csv (a line for each group).
# What follows the folder goes to `enrelm fit`. A group that cannot be fitted is named, the others are still fitted, and
# the exit code is 1.
set -euo pipefail

if [ $# -lt 4 ]; then
    echo "usage: $0 DATA.csv GROUP_COLUMN TARGET FOLDER [options of enrelm fit]" >&2
    exit 2
fi
data=$1 group=$2 target=$3 folder=$4
shift 4

if grep -q '"' "$data"; then
    echo "$data has quoted cells, which awk would split wrongly: use a CSV tool to split it" >&2
    exit 2
fi
mkdir -p "$folder"
rm -f "$folder"/*.csv

awk -F, -v group="$group" -v folder="$folder" '
    { sub(/\r$/, "") }
    NR == 1 {
        header = $0
        for (i = 1; i <= NF; i++) if ($i == group) column = i
        if (!column) { print "there is no column " group > "/dev/stderr"; exit 2 }
        next
    }
    {
        name = $column
        gsub(/[^A-Za-z0-9_-]/, "_", name)
        file = folder "/" name ".csv"
        if (!(file in value)) { value[file] = $column; print header > file }
        if (value[file] != $column) { print value[file] " and " $column " are both " file > "/dev/stderr"; exit 2 }
        print > file
    }' "$data"

failed=0
for rows in "$folder"/*.csv; do
    if ! enrelm fit "$rows" --target "$target" --drop "$group" -q --format csv -o "${rows%.csv}.joblib" "$@" \
        >"${rows%.csv}.result"; then
        echo "no model for $rows" >&2
        failed=1
    fi
done
# One header, then the line of each group.
awk 'FNR > 1 || !header { print; header = 1 }' "$folder"/*.result >"$folder/summary.txt"
rm -f "$folder"/*.result
mv "$folder/summary.txt" "$folder/summary.csv"
cat "$folder/summary.csv"
exit $failed
