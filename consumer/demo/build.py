"""Makes the model that ships with the demonstration: `python -m consumer.demo.build [FOLDER]`.

It learns, through `consumer fit`, from the normal records of a fixed pool of fleets. The same code on
the same kind of machine gives the same files, byte for byte.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from consumer.codec import EventCodec
from consumer.demo.fitting import run_fit
from consumer.demo.pool import pool_records
from consumer.records import Event, Record
from consumer.settings import Input

MODEL: Final = Path(__file__).parent / "model"
MOST_BYTES: Final = 4_000_000


def main(target: Path) -> int:
    """Fit, check the size, and only then put the model in the place of the old one."""
    with TemporaryDirectory(prefix="consumer-demo-build-") as folder:
        records, made = Path(folder) / "pool.jsonl", Path(folder) / "model"
        write_pool(records)
        if code := run_fit(["-", "--out", str(made), "--name", "demo"], records):
            return code
        size = sum(file.stat().st_size for file in made.iterdir())
        if size > MOST_BYTES:
            sys.stderr.write(f"the model has {size:,} bytes, more than {MOST_BYTES:,}\n")
            return 1
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(made, target)
    sys.stderr.write(f"{target}: {size:,} bytes\n")
    return 0


def write_pool(path: Path) -> None:
    """The pool as JSON lines: a text of several lines is one record, as it was in its topic."""
    codec = EventCodec(Input())
    with path.open("wb") as file:
        for offset, each in enumerate(pool_records()):
            event = codec.decode(Record("pool", 0, offset, each.value))
            if not isinstance(event, Event):
                raise TypeError(f"the generator made a normal record that cannot be decoded: {event}")
            fields = {"message": event.message} | ({"level": event.level} if event.level else {})
            file.write(msgspec.json.encode(fields) + b"\n")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else MODEL))
