# Meshwright with Java for Spark and Mosquitto for federations, run by a user without privileges.
#   docker build -t meshwright .
#   docker run --rm -v "$PWD:/data" meshwright plan subscriptions.csv --out plan
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends mosquitto \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 10001 meshwright
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[all]" && rm -rf /wheels
USER meshwright
WORKDIR /data
ENTRYPOINT ["meshwright"]
CMD ["--help"]
