# The suite, ready to judge:
#
#     docker build -t pytest-dra . && docker run --rm pytest-dra pytest --dra-driver=fake
#
# and with what judges on kind clusters (kind, kubectl, docker), which needs the socket of a container engine:
#
#     docker build --target kind -t pytest-dra:kind .
#
# BASE is any image with Python 3.10 or newer on glibc, such as one with your driver's libraries.
ARG BASE=python:3.13-slim
ARG GO=golang:1.26
ARG KUBECTL=registry.k8s.io/kubectl:v1.37.2

FROM ${BASE} AS installed
COPY . /source
RUN python3 -m venv /opt/pytest-dra && /opt/pytest-dra/bin/pip install --no-cache-dir '/source[xdist]'

FROM ${BASE} AS runtime
COPY --from=installed /opt/pytest-dra /opt/pytest-dra
ENV PATH=/opt/pytest-dra/bin:$PATH HOME=/work
RUN mkdir -p /work && chown 10001:10001 /work
WORKDIR /work
USER 10001:10001
CMD ["pytest", "--dra-driver=fake"]

FROM ${GO} AS tools
ARG KIND=v0.33.0
RUN CGO_ENABLED=0 GOBIN=/tools go install sigs.k8s.io/kind@${KIND}

FROM ${KUBECTL} AS kubectl

FROM runtime AS kind
# The socket of the engine belongs to root.
USER root
# Debian 13 has the client in a package of its own.
RUN apt-get update \
    && (apt-get install -y --no-install-recommends docker-cli || apt-get install -y --no-install-recommends docker.io) \
    && rm -rf /var/lib/apt/lists/*
COPY --from=tools /tools/kind /usr/local/bin/kind
COPY --from=kubectl /bin/kubectl /usr/local/bin/kubectl

FROM runtime AS suite
