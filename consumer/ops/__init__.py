"""How the process is watched and stopped: metrics, health, logs, signals."""
