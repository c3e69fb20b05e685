"""python -m benchmarks.paper [--data DIR] [--seeds 20] [--out docs/reproduction], or --check DIR.

Exit codes: 0 done, 2 usage, 3 a file of the data is missing or differs (--check).
"""

from __future__ import annotations

import os

# Before numpy is imported, here and in the worker processes that inherit it: one thread of BLAS for each.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[_variable] = "1"

if __name__ == "__main__":
    from benchmarks.paper.command import main

    raise SystemExit(main())
