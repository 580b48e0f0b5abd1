"""What the rig orders a replica to do while it runs: a file that both know, for orders beginning with what
they are for (`scorer hang`, `failpoint after_acks`), and another one that says that it was obeyed."""

from __future__ import annotations

from pathlib import Path


class Orders:
    """One replica's. The rig gives and lifts them, the replica looks for them and obeys."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._receipt = path.with_suffix(".obeyed")

    def give(self, order: str) -> None:
        """Instead of the one that was given before."""
        self._receipt.unlink(missing_ok=True)
        draft = self._path.with_suffix(".draft")
        draft.write_text(order)
        draft.replace(self._path)

    def lift(self) -> None:
        self._path.unlink(missing_ok=True)

    @property
    def obeyed(self) -> bool:
        return self._receipt.exists()

    def given(self, kind: str) -> str:
        """The present order of this kind; "" for none."""
        try:
            found, _, order = self._path.read_text().partition(" ")
        except FileNotFoundError:
            return ""
        return order if found == kind else ""

    def obey(self) -> None:
        self._receipt.touch()
