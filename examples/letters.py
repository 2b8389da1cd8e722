"""A script in 20 lines: answer every line of a file, some at a time, in order. `python examples/letters.py FILE`."""

import sys
from pathlib import Path

from producer import RagClient, TaskError

questions = [line for line in Path(sys.argv[1]).read_text().splitlines() if line.strip() and line[0] != "#"]
failed = 0

with RagClient() as client:  # reads RAG_BROKER_URL
    for question, ticket in zip(
        questions, client.ask_many(questions, collection="handbook", deadline=300), strict=True
    ):
        print(f"\n## {question}\n")
        try:
            print(ticket.get().to_markdown())
        except TaskError as error:
            failed += 1
            print(f"No answer: {error}", "- ask again" if error.retryable else "")

sys.exit(1 if failed else 0)
