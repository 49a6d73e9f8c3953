"""Client for Python programs: tasks through Celery, and the shared memory by REST."""
