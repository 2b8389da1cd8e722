"""Every name and number that both halves must agree on: queues, tasks, key prefixes, states, expiries."""

from typing import Final

# Only workers on the GPU machine consume these two: "pinned to the Spark" is by queue.
ANSWER_QUEUE: Final = "spark.answer"
# Questions must not wait behind a night of PDFs, so ingestion has its own queue and its own worker.
INGEST_QUEUE: Final = "spark.ingest"

# Tasks are sent by name: an app never imports worker code.
ANSWER_TASK: Final = "rag.answer"
INGEST_TASK: Final = "rag.ingest"
NIGHTLY_TASK: Final = "rag.nightly"
UPLOAD_TASK: Final = "rag.upload"
DELETE_TASK: Final = "rag.delete"
DOCUMENTS_TASK: Final = "rag.documents"

# An uploaded document's bytes wait here for the ingest worker: in the queue they would be copied with every message.
UPLOAD_PREFIX: Final = "rag:upload:"
# Larger files belong into a folder: they would fill Redis while they wait. It takes no value above 512 MB at all.
LARGEST_UPLOAD_BYTES: Final = 256 << 20

# Celery calls unknown, queued and lost ids all PENDING; a receipt written before sending tells them apart.
RECEIPT_PREFIX: Final = "rag:receipt:"
# Counts what was sent to each queue: by its number, a message knows how many are ahead of it.
SENT_PREFIX: Final = "rag:sent:"
# Where Celery's Redis backend puts a task's state; the producer reads it without subscribing to a backend.
RESULT_PREFIX: Final = "celery-task-meta-"

# Whoever works on a task looks here between its steps; a queued task with this flag is not taken up any more.
CANCEL_PREFIX: Final = "rag:cancel:"
# One hash a queue, one field a worker: without it, "queued" and "queued, and nobody listens" look the same.
WORKERS_PREFIX: Final = "rag:workers:"
# A worker says that it is there this often, and is believed to be there this long.
PRESENCE_SECONDS: Final = 5.0
ABSENT_SECONDS: Final = 20.0

# A question nobody waits for any more is not answered: it would only delay the ones somebody waits for.
DEFAULT_DEADLINE_SECONDS: Final = 120.0
# A night of documents may take hours; longer than a day means that the next night would overlap.
INGEST_DEADLINE_SECONDS: Final = 20 * 3600.0
# Answers are read within minutes; kept longer they only fill Redis.
RESULT_SECONDS: Final = 3600
# A failure is looked at the next morning.
FAILURE_SECONDS: Final = 24 * 3600
# A receipt outlives the deadline by as much as a result is kept: shorter, and a finished question would look unknown;
# longer, and one whose answer is gone would look as if it had never been answered.
RECEIPT_SECONDS: Final = RESULT_SECONDS

# Custom state of a running ingest; Celery's own states are used for the rest.
PROGRESS_STATE: Final = "PROGRESS"
# A worker tells its progress after each file; one that was silent for so long died with its ingest.
SILENCE_SECONDS: Final = 600.0
LOST_ERROR: Final = "WorkerLost"
# Flower shows an event of this type as a task's state.
PROGRESS_EVENT: Final = "task-progress"

# The worker fails a task with one exception of this name and three arguments: error type, reason, retryable.
FAILURE_TYPE: Final = "TaskFailure"
# This error type means: the deadline passed while the worker was at it.
DEADLINE_ERROR: Final = "DeadlineExceeded"
# And this one: somebody cancelled it while the worker was at it.
CANCELLED_ERROR: Final = "Cancelled"

# A reply stream's key: the workers' Redis user may write here, and nowhere else that an app chooses.
REPLY_PREFIX: Final = "rag:reply:"
# A reply stream that nobody reads is cut to about this length.
REPLY_STREAM_LENGTH: Final = 10_000
