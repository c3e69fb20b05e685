"""The tool side by side with what a user would pick instead: `make bench`, or `python -m benchmarks --help`.

Every figure that is compared comes out of one run on one machine, contenders in alternating order, medians of repeats;
what is claimed is the ratio. Each section runs in a process of its own, on one core and on all of them.
"""
