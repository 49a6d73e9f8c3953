"""One worker for any of the queues; `celery -A memshare.worker worker` runs it too."""

import agents.worker
import memory_service.worker
import scorer.worker
from broker.worker import worker_app

parts = (agents.worker.part, scorer.worker.part, memory_service.worker.part)
app = worker_app(*parts)
