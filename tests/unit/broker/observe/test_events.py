from __future__ import annotations

import threading
from typing import Any

from memshare.broker.app import make_app
from memshare.broker.settings import Settings

THREADS, EACH = 8, 400


def test_no_event_is_lost_while_another_thread_sends_the_buffer(settings: Settings) -> None:
    app = make_app(settings=settings)
    sent: list[dict[str, Any]] = []
    with app.connection_for_write() as connection:
        dispatcher = app.events.Dispatcher(connection, hostname="test", enabled=True, buffer_group=["task"])
        publish = dispatcher._publish

        def noted(event: Any, *args: Any, **kwargs: Any) -> None:
            sent.extend(event)
            publish(event, *args, **kwargs)

        dispatcher._publish = noted
        dispatcher.on_send_buffered = dispatcher.flush

        def work() -> None:
            for number in range(EACH):
                dispatcher.send("task-started", uuid=str(number))

        threads = [threading.Thread(target=work) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        dispatcher.flush()
        dispatcher.close()
    app.close()

    assert len(sent) == THREADS * EACH
