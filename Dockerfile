# docker build -t odl .
# docker run --rm -v "$PWD":/data --user "$(id -u):$(id -g)" odl init news posts/*.jsonl     (docs/clusters.md)
FROM python:3.11-slim AS build

# The compiler builds the wheel, and is not in the image; what .gitignore names is not in the wheel.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends g++
COPY pyproject.toml CMakeLists.txt README.md LICENSE .gitignore /src/
COPY src /src/src
COPY workflow /src/workflow
COPY profiles /src/profiles
COPY config/config.yaml /src/config/config.yaml
COPY data/corpora.csv /src/data/corpora.csv
RUN pip wheel --no-deps --wheel-dir /wheels /src

FROM python:3.11-slim

COPY constraints.txt /wheels/
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --constraint /wheels/constraints.txt "$(ls /wheels/*.whl)[http,parquet]" \
    && rm -rf /wheels

# Whoever runs it has no home in the image.
ENV HOME=/tmp
WORKDIR /data
ENTRYPOINT ["odl"]
CMD ["--help"]
