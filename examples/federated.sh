#!/usr/bin/env bash
# Shards fitted in different places, put together as sums: their rows stay where they are, but for a sample.
#
#   examples/federated.sh sample_data/network.csv y both.joblib sample_data/linear.csv
#
# PARENT_DATA gives landmarks, inputs and kernel (of rows that may be shared); each SHARD is fitted like the parent where it
# lies, here one after the other; the models of the shards travel and are merged.
set -euo pipefail

if [ $# -lt 4 ]; then
    echo "usage: $0 PARENT_DATA TARGET MODEL SHARD..." >&2
    exit 2
fi
data=$1 target=$2 model=$3
shift 3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

enrelm fit "$data" --target "$target" --updatable -q -o "$folder/parent.joblib" ${OPTIONS:-} > /dev/null
models=("$folder/parent.joblib")
for shard in "$@"; do
    out="$folder/$(basename "$shard").joblib"
    enrelm fit "$shard" --like "$folder/parent.joblib" -q -o "$out" > /dev/null
    models+=("$out")
done
enrelm merge "${models[@]}" -q -o "$model"
