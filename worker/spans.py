"""Where to send them in, OpenTelemetry's spans out, from the app's call to the model's answer; off by default.

The spans are those of OpenTelemetry's own instrumentation of Celery and httpx: ids, names, times and addresses, never
an argument. The app's own current span, where it has one, travels in the message.
"""

from __future__ import annotations

import os

from worker.errors import SettingError


def start(url: str, *, service: str) -> None:
    """Send this process's spans to `url` (OTLP over HTTP); raises SettingError where the extra is missing.

    Spans are sent by a thread: call it after the fork.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.instrumentation.celery import CeleryInstrumentor
        from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise SettingError("RAG_SPANS_URL needs OpenTelemetry: install rag-kit[otel], or unset it") from error
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: service}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url)))
    # What only asks after the model's health would be most of all spans.
    os.environ.setdefault("OTEL_PYTHON_HTTPX_EXCLUDED_URLS", "/models$,/props$")
    CeleryInstrumentor().instrument(tracer_provider=provider)  # type: ignore[no-untyped-call]
    HTTPXClientInstrumentor().instrument(tracer_provider=provider)
