"""An independent audit of what the consumer promises: it reads topics and commits, and believes nothing.

Of the product it shares the settings, the way to the brokers and the published schemas, no code of the
pipeline: a bug there must not be able to hide itself here. tests/unit/test_layers.py enforces that.
"""
