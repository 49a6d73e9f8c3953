"""What Python programs use: tasks through Celery, and the shared memory by REST."""
