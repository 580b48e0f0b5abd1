"""Where an output record goes."""

from __future__ import annotations

import pytest

from consumer.partitioner import chosen_partition, murmur2, output_partition

# From Apache Kafka's own test (org.apache.kafka.common.utils.UtilsTest.testMurmur2).
KAFKAS = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize("key", KAFKAS)
def test_the_hash_is_that_of_javas_producer(key: bytes) -> None:
    assert murmur2(key) == KAFKAS[key]


def test_a_key_goes_to_its_positive_hash_modulo_the_partitions() -> None:
    # toPositive clears the sign bit: -973932308 & 0x7fffffff = 1173551340.
    assert output_partition(b"21", 5, 7) == 1173551340 % 7
    assert output_partition(b"abc", 5, 7) == 479470107 % 7


def test_an_empty_key_is_a_key() -> None:
    assert output_partition(b"", 5, 4) == 275646681 % 4


def test_without_a_key_the_input_partition_decides() -> None:
    assert [output_partition(None, partition, 3) for partition in range(7)] == [0, 1, 2, 0, 1, 2, 0]


def test_only_records_without_a_key_need_a_choice_of_ours() -> None:
    assert chosen_partition(None, 7, 4) == output_partition(None, 7, 4)
    assert chosen_partition(b"", 7, 4) is None
    assert chosen_partition(b"21", 7, 4) is None
