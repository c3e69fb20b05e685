# From data to predictions, each step only when what it is made of has changed:
#
#   make -f examples/pipeline.mk DATA=sample_data/friedman.csv NEW=sample_data/friedman_new.csv TARGET=y OUT=out
#
# A file appears under its name only when it is whole, so an interrupted step is simply done again.
DATA ?= sample_data/friedman.csv
NEW ?= sample_data/friedman_new.csv
TARGET ?= y
OUT ?= out
BAR ?= 0.8
FIT ?=

.PHONY: all
all: $(OUT)/predictions.csv $(OUT)/info.json

$(OUT)/model.joblib: $(DATA) | $(OUT)
	enrelm fit $(DATA) --target $(TARGET) --fail-above $(BAR) -o $@ $(FIT)

$(OUT)/predictions.csv: $(OUT)/model.joblib $(NEW)
	enrelm predict $(OUT)/model.joblib $(NEW) --append -o $@

$(OUT)/info.json: $(OUT)/model.joblib
	enrelm info $(OUT)/model.joblib --format json >$@.tmp && mv $@.tmp $@

$(OUT):
	mkdir -p $@
