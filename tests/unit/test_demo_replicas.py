"""Ports for the replicas of the demonstration."""

from __future__ import annotations

import socket
from contextlib import ExitStack

from consumer.demo.replicas import free_ports


def test_every_replica_can_have_its_port_and_no_two_have_the_same() -> None:
    ports = free_ports(8)
    assert len(set(ports)) == 8
    with ExitStack() as servers:
        for port in ports:
            servers.enter_context(socket.create_server(("127.0.0.1", port)))
