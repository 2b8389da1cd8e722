"""`python -m worker`: the operator's commands."""

from worker.admin import main

main()
