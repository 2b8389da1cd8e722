# One image for every worker, beat, Flower and the small model server.
#
# On a CPU machine (x86_64 or aarch64) leave BASE alone. On the Spark set it to NVIDIA's PyTorch image for aarch64
# and CUDA 13: its torch is built for that GPU, and is kept.
ARG BASE=python:3.12-slim
FROM ${BASE}

WORKDIR /app
COPY pyproject.toml constraints.txt README.md ./
COPY producer producer
RUN if python -c "import torch" 2>/dev/null; then sed -i '/^torch==/d; /^numpy==/d' constraints.txt; fi \
 && pip install --no-cache-dir --constraint constraints.txt ".[cli,worker,embedded,otel]"
COPY docker-compose.yml ./
COPY worker worker

RUN (getent passwd 1000 || useradd --uid 1000 --create-home rag) && mkdir -p /data && chown 1000 /data
USER 1000
ENV HF_HUB_OFFLINE=1 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 RAG_DATA_DIR=/data
CMD ["python", "-m", "worker", "--help"]
