# syntax=docker/dockerfile:1
# One image for all processes of Plimsoll: docker build -t plimsoll .
# docs/designs/0036-containers-and-kubernetes.md gives the reasons.
# BASE needs Python 3.11 or newer with venv. CPU is the oldest processor family for which kernels are compiled.
# A secret named pip.conf, if there is one, is pip's configuration during the build: an index or a proxy of your own.
ARG BASE=docker.io/library/python:3.11-slim-bookworm

# hadolint ignore=DL3006
FROM ${BASE} AS build
ARG CPU=x86-64-v3
ENV NUMBA_CPU_NAME=${CPU} \
    NUMBA_CPU_FEATURES="" \
    NUMBA_CACHE_DIR=/opt/plimsoll/kernels \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PYTHONDONTWRITEBYTECODE=1
WORKDIR /src
COPY requirements/run.txt requirements/build.txt requirements/
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    python3 -m venv /opt/plimsoll \
    && /opt/plimsoll/bin/pip install --require-hashes -r requirements/run.txt -r requirements/build.txt
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY migrations migrations
COPY libs libs
COPY services services
WORKDIR /
# Compile and warm from elsewhere: the installed files count, not the sources. Nothing is installed later, so pip goes.
RUN /opt/plimsoll/bin/pip install --no-deps --no-build-isolation --no-index /src \
    && /opt/plimsoll/bin/pip uninstall --yes setuptools pip \
    && /opt/plimsoll/bin/python -m compileall -q -j 0 /opt/plimsoll/lib \
    && /opt/plimsoll/bin/python -m libs.assignment.warm

# hadolint ignore=DL3006
FROM ${BASE}
ARG CPU=x86-64-v3
LABEL org.opencontainers.image.title="Plimsoll" \
      org.opencontainers.image.description="An open capacity control plane" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/plimsoll /opt/plimsoll
COPY docker/entrypoint /opt/plimsoll/bin/entrypoint
# A new volume takes the owner of the folder that it covers.
RUN install -d -o 10001 -g 10001 /var/lib/plimsoll \
    && install -d -o 10001 -g 10001 /var/lib/plimsoll/secrets /var/lib/plimsoll/admin /var/lib/plimsoll/monitoring \
       /var/lib/plimsoll/bundles
ENV PATH=/opt/plimsoll/bin:$PATH \
    NUMBA_CPU_NAME=${CPU} \
    NUMBA_CPU_FEATURES="" \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PLIMSOLL_LISTEN_HOST=0.0.0.0 \
    HOME=/tmp
USER 10001:10001
WORKDIR /tmp
EXPOSE 8000
ENTRYPOINT ["/opt/plimsoll/bin/entrypoint"]
CMD ["python", "-m", "services.standalone.api", "serve"]
