from __future__ import annotations

import pytest
import redis

from memshare.memory_service.curate.curate import Curate
from memshare.memory_service.curate.forgetting import Forgetting
from memshare.memory_service.pool.pool import Pool


@pytest.fixture
def curate(pool: Pool, redis_client: redis.Redis) -> Curate:
    return Curate(pool, redis_client)


@pytest.fixture
def forgetting(pool: Pool, redis_client: redis.Redis) -> Forgetting:
    return Forgetting(pool, redis_client)
