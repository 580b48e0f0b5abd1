"""A small world for the loop to live in: brokers, a device, time. Nothing here blocks or sleeps.

Every fake writes to one shared journal, so that order can be asserted, and checks what the loop does
against the brokers' own truth the moment it does it.
"""
