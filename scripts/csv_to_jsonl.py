"""A CSV file as JSON lines: python scripts/csv_to_jsonl.py values.csv payload label > values.jsonl

The first of the named columns becomes `message`, the others keep their names. A quoted value may hold
line ends; a compressed file is told by its name.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
from pathlib import Path


def main(name: str, message: str, *others: str) -> None:
    path = Path(name)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            record = {"message": row[message]} | {column: row[column] for column in others}
            sys.stdout.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] in {"-h", "--help"}:
        sys.exit(__doc__)
    main(*sys.argv[1:])
