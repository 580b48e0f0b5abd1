"""Payloads that break parsers, terminals, tokenizers and clients, each with what we promise becomes of it.

The promises are literals beside the payloads, written from the contract (schemas/, docs/delivery.md) and not
taken from the code: a change of one is a change of the contract. Limits are the defaults of the settings.
"""
