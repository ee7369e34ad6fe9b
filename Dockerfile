# docker build -t odl .
# docker run --rm -v "$PWD":/data --user "$(id -u):$(id -g)" odl init news posts/*.jsonl     (docs/clusters.md)
FROM python:3.11-slim

# The C compiler links the kernels, which are compiled here, once for every user of the image.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*

COPY pyproject.toml setup.py MANIFEST.in README.md LICENSE constraints.txt /src/
COPY src /src/src
COPY workflow /src/workflow
COPY profiles /src/profiles
COPY config/config.yaml /src/config/config.yaml
COPY data/corpora.csv /src/data/corpora.csv
RUN pip install --no-cache-dir --constraint /src/constraints.txt "/src[http,parquet]" \
    && rm -rf /src \
    && odl step compile --cores 0

# Whoever runs it has no home in the image.
ENV HOME=/tmp
WORKDIR /data
ENTRYPOINT ["odl"]
CMD ["--help"]
