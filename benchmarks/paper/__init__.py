"""The paper's experiments run again, beside its printed figures: `python -m benchmarks.paper`."""
