"""What Flower is started with: the queues and their events, and none of the workers' packages.

`celery -A memshare.operate.flower flower` runs it.
"""

from memshare_broker.app import make_app

app = make_app()
