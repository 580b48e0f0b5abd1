"""The demonstration: brokers in this process, a generator of labelled logs, replicas, a report."""
