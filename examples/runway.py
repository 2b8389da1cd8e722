"""Runway in 20 lines, a web app that answers from a handbook: `uvicorn examples.runway:app`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException, Response

from producer import AsyncRagClient, RagError, Turn

rag: AsyncRagClient


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    """One client for the whole app: however many questions wait, it is one subscription and no thread."""
    global rag
    async with AsyncRagClient() as rag:
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/questions")
async def ask(question: str, before: list[str] | None = None) -> Response:
    """Answer a question after those that the user asked before."""
    history = [Turn(role="user", content=words) for words in before or []]
    try:
        ticket = await rag.ask(question, collection="handbook", history=history, deadline=60)
        answer = await ticket.get(timeout=60)
    except RagError as error:
        raise HTTPException(503 if error.retryable else 400, str(error)) from error
    return Response(answer.to_html(), media_type="text/html")
