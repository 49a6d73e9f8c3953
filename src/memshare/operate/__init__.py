"""Running memshare on one machine: processes, Redis, metrics, backups."""
