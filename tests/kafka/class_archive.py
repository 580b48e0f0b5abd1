"""Makes the JVM's archive of a broker's classes: `python -m tests.kafka.class_archive`."""

from __future__ import annotations

from tests.kafka.cluster import CLASS_ARCHIVE, JARS, Cluster


def main() -> None:
    """A broker runs for a moment and writes the archive when it ends. Blocks for some seconds."""
    archive = JARS / CLASS_ARCHIVE
    archive.unlink(missing_ok=True)
    draft = archive.with_suffix(".draft")
    cluster = Cluster(jvm=("-Xmx512m", f"-XX:ArchiveClassesAtExit={draft}"))
    try:
        cluster.start()
        cluster.wait_ready()
        cluster.stop()
        draft.replace(archive)
    finally:
        cluster.close()


if __name__ == "__main__":
    main()
