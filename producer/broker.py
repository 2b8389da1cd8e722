"""The sending-only Celery app: JSON in, a message in the queue out; it has no result backend."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from celery import Celery
from kombu import Queue
from kombu.exceptions import OperationalError

from producer.config import ProducerConfig
from producer.errors import BrokerUnavailable
from producer.names import ANSWER_QUEUE, INGEST_QUEUE


class Broker:
    """Sends tasks by name; safe to share among threads."""

    def __init__(self, config: ProducerConfig) -> None:
        self._app = Celery("rag-producer", broker=config.broker_url, set_as_current=False)
        # Half of the time goes to connecting and half to the command, so that a frozen Redis fails in time too.
        half = config.broker_timeout / 2
        self._app.conf.update(
            task_serializer="json",
            accept_content=["json"],
            # A typing error in a queue's name must fail here, not fill a queue that nobody reads.
            task_queues=[Queue(ANSWER_QUEUE), Queue(INGEST_QUEUE)],
            task_create_missing_queues=False,
            broker_transport_options={
                "socket_timeout": half,
                "socket_connect_timeout": half,
                "max_retries": 0,
            },
            broker_pool_acquire_timeout=config.broker_timeout,
            broker_connection_retry=False,
        )

    def send(self, task: str, message: Mapping[str, Any], *, id: str, queue: str, deadline: float) -> None:
        """Put one task into its queue; raises BrokerUnavailable.

        The shown arguments are replaced: operators see ids in Flower and in logs, never a client's words.
        """
        try:
            self._app.send_task(
                task,
                kwargs={"message": dict(message)},
                task_id=id,
                queue=queue,
                expires=datetime.fromtimestamp(deadline, UTC),
                argsrepr="()",
                kwargsrepr="{...}",
                retry=False,
            )
        except (OperationalError, OSError) as error:
            raise BrokerUnavailable(f"the task was not sent: {type(error).__name__}") from error

    def close(self) -> None:
        """Give the connections back."""
        self._app.close()
