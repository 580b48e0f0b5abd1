"""What a trial takes place on: brokers, a cache, and the proxies before them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from confluent_kafka.admin import AdminClient

from tests.chaos.brokers import proxied_cluster, through
from tests.chaos.cache import Cache
from tests.chaos.proxy import Link, Proxies
from tests.kafka.cluster import Cluster
from tests.kafka.collect import admin_client
from tests.kafka.topics import Topics

CACHE_LINK = "redis"


class Site(NamedTuple):
    """Whatever watches a trial reaches the brokers directly, replicas by way of the proxies."""

    proxies: Proxies
    cluster: Cluster
    cache: Cache
    topics: Topics

    def admin(self) -> AdminClient:
        """A new one: one that lived through faults may go on asking brokers that are in charge no more."""
        return admin_client(self.cluster.bootstrap)

    @property
    def through(self) -> str:
        return through(self.proxies)

    @property
    def cache_url(self) -> str:
        return f"redis://127.0.0.1:{self.proxies.links[CACHE_LINK].port}/0"

    @property
    def broker_links(self) -> list[Link]:
        return [link for name, link in self.proxies.links.items() if name != CACHE_LINK]


@contextmanager
def running_site() -> Iterator[Site]:
    """Everything runs and answers; nothing of it is left at the end."""
    with ExitStack() as stack:
        proxies = Proxies()
        stack.callback(proxies.close)
        cache = Cache()
        stack.callback(cache.close)
        proxies.open(CACHE_LINK, cache.port)
        cluster = proxied_cluster(proxies)
        stack.callback(cluster.close)
        cluster.start()
        cache.start()
        cluster.wait_ready()
        yield Site(proxies, cluster, cache, Topics(cluster.bootstrap))
