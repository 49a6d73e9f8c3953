"""The Celery app: one set of settings, one table of queues."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from celery import Celery
from kombu import Exchange, Queue

from memshare_broker.settings import Settings, load_settings
from memshare_broker.settings_file import SCHEME, parse_sentinels

App = Celery
"""The type of an app, for who hands one on without knowing what it is."""

SCORER_QUEUE, MEMORY_QUEUE, TRAINER_QUEUE, CONCEPTS_QUEUE = "scorer", "memory", "trainer", "concepts"
STAGE_QUEUES = (SCORER_QUEUE, MEMORY_QUEUE, TRAINER_QUEUE, CONCEPTS_QUEUE)
MOST_LESSONS = 1_000  # open messages of the trainer, from which on nothing more is made for a model to label
PRIORITY_STEPS = (0, 3, 6, 9)  # 0 goes first; others are rounded down to a step
PRIORITY_SEPARATOR = "\x06\x16"  # kombu's, between a queue's name and the step


def make_app(
    queues: Callable[[Settings], Iterable[str]] = lambda _: (MEMORY_QUEUE,), settings: Settings | None = None
) -> Celery:
    """An app that reads its settings when it is first used, and not when it is imported."""
    app = Celery(
        "memshare",
        set_as_current=False,
        amqp="memshare_broker.celery_patches:Messaging",
        events="memshare_broker.celery_patches:Events",
    )

    def configuration() -> dict[str, Any]:
        known = settings or load_settings()
        return celery_settings(known, queues(known))

    app.add_defaults(configuration)
    return app


def celery_settings(settings: Settings, queues: Iterable[str]) -> dict[str, Any]:
    """Celery's configuration: late acknowledgement, JSON only, and time-outs that fit each other."""
    names = list(dict.fromkeys(queues))
    visible_again = int(settings.longest_task)  # nothing waits in a worker for its time to come
    transport = {
        "visibility_timeout": visible_again,
        "unacked_restore_interval": 5,
        "unacked_restore_throttle": 1,
        "socket_timeout": 30,
        "socket_connect_timeout": 5,
        "socket_keepalive": not settings.redis.startswith("unix:"),
        "health_check_interval": 25,
        "queue_order_strategy": "round_robin",
        "priority_steps": list(PRIORITY_STEPS),
    }
    master = {"master_name": parse_sentinels(settings.redis).master} if settings.redis.startswith(SCHEME) else {}
    return {
        "broker_url": kombu_url(settings.redis),
        "result_backend": kombu_url(settings.redis),
        "broker_transport_options": transport | master,
        "result_backend_transport_options": {
            "visibility_timeout": visible_again,
            "retry_policy": {"timeout": 5.0},
            **master,
        },
        "visibility_timeout": visible_again,
        "task_queues": [queue_named(name) for name in names],
        "task_default_queue": names[0],  # nothing is sent without naming its queue; Celery wants one all the same
        "task_create_missing_queues": False,
        "task_serializer": "json",
        "result_serializer": "json",
        "accept_content": ["json"],
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        "task_acks_on_failure_or_timeout": True,  # False drops the task: Redis has no dead-letter exchange
        "worker_prefetch_multiplier": 1,
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "worker_soft_shutdown_timeout": 0,
        "worker_pool": "threads",
        "worker_concurrency": settings.concurrency,
        "worker_consumer": "memshare_broker.celery_patches:CarefulConsumer",
        "worker_hijack_root_logger": False,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_channel_error_retry": True,
        "task_publish_retry_policy": {
            "max_retries": 20,
            "interval_start": 0.1,
            "interval_step": 0.2,
            "interval_max": 1.0,
        },
        "result_expires": int(settings.traces_days * 86_400),
        "result_backend_always_retry": True,
        "result_backend_thread_safe": True,  # one pool of connections, and not one for each thread that saw a failure
        "worker_send_task_events": True,
        "task_send_sent_event": True,
    }


def kombu_url(url: str) -> str:
    """redis-py writes a socket as unix://PATH?db=N, Celery as redis+socket://PATH?virtual_host=N."""
    if url.startswith(SCHEME):
        return parse_sentinels(url).kombu_url
    if not url.startswith("unix:"):
        return url
    path, _, query = url.removeprefix("unix://").partition("?")
    database = query.removeprefix("db=") or "0"
    return f"redis+socket://{path}?virtual_host={database}"


def queue_named(name: str) -> Queue:
    """A queue with an exchange of its own, as Celery makes one for a client that only names the queue."""
    return Queue(name, Exchange(name), routing_key=name)


def lists_of(queue: str) -> list[str]:
    """The Redis lists that hold a queue's messages: one for each priority step."""
    return [list_of(queue, step) for step in PRIORITY_STEPS]


def list_of(queue: str, priority: int) -> str:
    """The Redis list that holds a queue's messages of a priority from 0 to 9."""
    step = max(step for step in PRIORITY_STEPS if step <= priority)
    return queue if step == 0 else f"{queue}{PRIORITY_SEPARATOR}{step}"
