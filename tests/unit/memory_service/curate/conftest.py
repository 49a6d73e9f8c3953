from __future__ import annotations

import pytest
import redis

from memshare_memory.curate.curate import Curate
from memshare_memory.curate.forgetting import Forgetting
from memshare_memory.pool.pool import Pool


@pytest.fixture
def curate(pool: Pool, redis_client: redis.Redis) -> Curate:
    return Curate(pool, redis_client)


@pytest.fixture
def forgetting(pool: Pool, redis_client: redis.Redis) -> Forgetting:
    return Forgetting(pool, redis_client)
