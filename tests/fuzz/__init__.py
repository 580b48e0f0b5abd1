"""Properties of everything that reads bytes of others, for any bytes.

targets.py holds them as plain functions of bytes. Hypothesis draws inputs in test_targets.py, in every run of
the tests; a fuzzer that follows coverage draws them in run.py (`make fuzz`). What it found is in findings.py.
"""
