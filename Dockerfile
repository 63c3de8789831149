# The command line and `make demo` in a container:
#   docker build --tag bisimulator .
#   docker run --rm bisimulator list
#   docker run --rm --volume "$PWD/demo:/home/user/bisimulator/demo" --entrypoint make bisimulator demo
FROM python:3.12-slim

RUN apt-get update \
    && apt-get install --yes --no-install-recommends make \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home user

USER user
WORKDIR /home/user/bisimulator
COPY --chown=user:user pyproject.toml constraints.txt requirements.txt Makefile README.md LICENSE ./
COPY --chown=user:user src ./src
RUN make .venv/.runtime

ENTRYPOINT [".venv/bin/bisimulator"]
CMD ["--help"]
