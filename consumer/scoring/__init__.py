"""Parts that measure how odd a text is, how they are fitted, and the scorer that runs them."""

import os

# OpenMP reads this when torch is loaded, so it stands before every import of torch. By default a thread
# that waits for the others spins; where replicas or other programs share the cores that costs far more
# than the waking (60 times a training step, measured with two threads on two busy cores).
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
