"""One fit of each variant from disk, read again in each pass: time, memory and the rows a second of every pass.

Friedman's rows with every digit of a double (about 2 GB at 10 million rows). `--memory` is set so low that the table is
streamed at every size. Peak memory is the process's largest resident set (wait4). The Gram pass is compared with the
float64 matrix-product peak of the same cores. Counted are the operations of its two matrix products as it does them:
for m landmarks and k independent directions 2 m k a row to project (m^2 where the factor is triangular) and k^2 for the
symmetric product. Reading, kernel and arcsines count as nothing, though they take their time.
"""

from __future__ import annotations

import json
import math
import re
import resource
import sys
from pathlib import Path

from benchmarks import data
from benchmarks.measuring import Child, Plan, child, enrelm
from benchmarks.outcome import Goal, Outcome, Table

VARIANTS = ("approximate", "incremental", "kernel")
PASS = re.compile(r"^pass \d+, (.+): ([\d,]+) rows?, ([\d,]+) rows/s$", re.MULTILINE)
PEAK = "from benchmarks.measuring import gemm_peak; print(gemm_peak())"
# Operations a row of the Gram pass: of a saved kernel model, or of the paper's kernel with m landmarks.
OPERATIONS = """
import sys
from enrelm_cli.phase_one.eigenbasis import landmark_projection
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.phase_one.landmarks import Landmarks, choose
from enrelm_cli.commands.saved import load_model
from enrelm_cli.inputs.split import Everything
from enrelm_cli.commands.synthetic import friedman
from enrelm_cli.inputs.training import rows_of_arrays, training
if sys.argv[1].endswith(".joblib"):
    features = load_model(sys.argv[1]).network.features
    projection = landmark_projection(features.kernel, Landmarks(features.Z, None, False))
else:
    table = friedman(20_000, noise=0.5)
    data = training(rows_of_arrays(table.X, table.y), Everything())
    projection = landmark_projection(ArcsineKernel(), choose(data.sample(), data.T, int(sys.argv[1])))
m, k = projection.R.shape
print(k, (m * m if projection.triangular else 2 * m * k) + k * k)
"""
IN_MEMORY = """
import sys, time
from enrelm_cli.kernels.arcsine import ArcsineKernel
from enrelm_cli.phase_one.landmarks import choose
from enrelm_cli.phase_one.phase_one import sums_of
from enrelm_cli.inputs.split import Everything
from enrelm_cli.commands.synthetic import friedman
from enrelm_cli.inputs.training import rows_of_arrays, training
table = friedman(int(sys.argv[1]), noise=0.5)
data = training(rows_of_arrays(table.X, table.y), Everything())
marks = choose(data.sample(), data.T, int(sys.argv[2]))
best = 1e9
for _ in range(3):
    start = time.perf_counter()
    sums_of(data, ArcsineKernel(), marks)
    best = min(best, time.perf_counter() - start)
print(best)
"""


def run(plan: Plan) -> Outcome:
    outcome = Outcome(remarks=[str(__doc__).split("\n\n", 1)[1].replace("\n", " ").strip()])
    sizes = (5_000, 20_000) if plan.quick else (100_000, 1_000_000, 10_000_000)
    peaks = [float(child([sys.executable, "-c", PEAK], plan.folder).out)]
    fits = Table("One fit from disk", {"rows": "n", "variant": "text", "seconds": "s", "CPU": "s", "peak memory": "B"})
    fits.columns |= {"exponent since the size before": "e", "error": "e", "neurons": "n", "landmarks": "n"}
    passes = Table("Rows a second of each pass", {"variant": "text", "pass": "text"})
    passes.columns |= {f"{rows:,} rows": "n" for rows in sizes}
    gram = Table("The Gram pass against the matrix-product peak", {"rows": "n", "variant": "text", "landmarks": "n"})
    gram.columns |= {"directions": "n", "rows/s": "n", "GFlop/s": "n", "share of the peak": "%"}
    seconds: dict[tuple[str, int], float] = {}
    rates: dict[tuple[str, str], dict[int, int]] = {}
    grams: list[tuple[int, str, int, int, tuple[int, int]]] = []
    largest = 0
    for rows in sizes:
        path = data.friedman_file(rows, plan.folder / "scale.csv", None)
        memory = "1G" if rows >= 10**7 else f"{max(path.stat().st_size // 10**6, 1)}M"
        for variant in VARIANTS:
            words = ("-t", "y", "--variant", variant, "--memory", memory, "-v", "-f", "json")
            done = child(enrelm("fit", path, *words, "-o", plan.folder / f"{variant}.joblib"), plan.folder)
            facts = json.loads(done.out)
            seconds[variant, rows], largest = done.seconds, max(largest, done.peak)
            before = sizes[sizes.index(rows) - 1] if rows != sizes[0] else None
            exponent = None if before is None else _exponent(seconds, variant, before, rows)
            cells = (facts["validation_error"], facts["neurons"], int(facts["facts"]["landmarks"]))
            fits.add(rows, variant, done.seconds, done.cpu, done.peak, exponent, *cells)
            outcome.points.append({"rows": rows, "method": f"{variant}, from disk", "seconds": done.seconds})
            for label, rate in _rates(done).items():
                rates.setdefault((variant, label), {})[rows] = rate
            if "Gram matrix" in _rates(done):
                what = plan.folder / "kernel.joblib" if variant == "kernel" else str(cells[2])
                grams.append((rows, variant, cells[2], _rates(done)["Gram matrix"], _operations(what, plan)))
    in_memory, m = (20_000, 500) if plan.quick else (200_000, 1000)
    took = float(child([sys.executable, "-c", IN_MEMORY, str(in_memory), str(m)], plan.folder).out)
    grams.append((in_memory, "in memory, no reading, best of 3", m, round(in_memory / took), _operations(str(m), plan)))
    # Before and after, the higher one: a neighbour can only lower it.
    peak = max(*peaks, float(child([sys.executable, "-c", PEAK], plan.folder).out))
    for rows, variant, m, rate, (k, operations) in grams:
        gram.add(rows, variant, m, k, rate, round(rate * operations / 1e9), rate * operations / peak)
    for (variant, label), by_rows in rates.items():
        passes.add(variant, label, *(by_rows.get(rows) for rows in sizes))
    outcome.tables += [fits, passes, gram, _predict(plan, outcome)]
    for variant in VARIANTS:
        exponent = _exponent(seconds, variant, sizes[0], sizes[-1])
        what = f"{variant}: exponent of time from {sizes[0]:,} to {sizes[-1]:,} rows"
        outcome.goals.append(Goal(what, exponent, 1.1, at_least=False, unit=""))
    outcome.goals.append(Goal(f"fit of {sizes[-1]:,} rows: peak memory", largest / 1e9, 2.0, False, " GB"))
    # Named beforehand, not the best of the table: the last fit, the largest and from disk.
    share = next(row[-1] for row in gram.rows if row[:2] == [sizes[-1], "kernel"])
    if max(row[-1] for row in gram.rows) > 1.0:
        outcome.remarks.append("**A share above 100 %: others used the cores, or the operations are miscounted.**")
        share = float("nan")
    what = f"Gram pass of the kernel variant, {sizes[-1]:,} rows from disk: share of the matrix-product peak"
    outcome.goals.append(Goal(what, 100 * share, 60.0, True, " %"))
    floor = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    outcome.remarks.append(f"Peaks below {floor:.0f} MB would be those of the process that started the children.")
    outcome.remarks.append(f"The measured matrix-product peak of these cores: {peak / 1e9:.0f} GFlop/s.")
    return outcome


def _rates(done: Child) -> dict[str, int]:
    """Rows a second by pass; the slowest where a label occurs more than once."""
    rates: dict[str, int] = {}
    for label, _, rate in PASS.findall(done.err):
        rates[label] = min(rates.get(label, 10**12), int(rate.replace(",", "")))
    return rates


def _exponent(seconds: dict[tuple[str, int], float], variant: str, few: int, many: int) -> float:
    return math.log(seconds[variant, many] / seconds[variant, few]) / math.log(many / few)


def _operations(what: str | Path, plan: Plan) -> tuple[int, int]:
    """Independent directions, and operations a row of the Gram pass."""
    k, operations = child([sys.executable, "-c", OPERATIONS, what], plan.folder).out.split()
    return int(k), int(operations)


def _predict(plan: Plan, outcome: Outcome) -> Table:
    rows = 50_000 if plan.quick else 5_000_000
    path = data.friedman_file(rows, plan.folder / "scale.csv")
    table = Table("predict from disk to disk", {"rows": "n", "variant": "text", "seconds": "s", "peak memory": "B"})
    worst = 0
    for variant in VARIANTS:
        words = ("-o", plan.folder / "out.csv", "-q")
        done = child(enrelm("predict", plan.folder / f"{variant}.joblib", path, *words), plan.folder)
        table.add(rows, variant, done.seconds, done.peak)
        worst = max(worst, done.peak)
    outcome.goals.append(Goal(f"predict of {rows:,} rows: peak memory", worst / 1e6, 500.0, False, " MB"))
    return table
