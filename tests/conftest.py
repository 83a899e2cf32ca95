"""What must hold before any test: small matrices gain nothing from threads, Ctrl-C interrupts."""

import os
import signal

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # before NumPy loads
    os.environ.setdefault(name, "1")

# A shell that starts the tests in the background has it ignored, by them and all they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
