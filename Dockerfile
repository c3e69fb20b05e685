# An image with enrelm and nothing else:  docker build -t enrelm .
#   docker run --rm -v "$PWD:/data" enrelm fit houses.csv --target price -o price.joblib
# The files it writes belong to whoever is named:  docker run --rm -u "$(id -u):$(id -g)" -v "$PWD:/data" enrelm ...
FROM python:3.13-slim AS build
WORKDIR /source
RUN pip install --no-cache-dir build
COPY pyproject.toml setup.py MANIFEST.in README.md LICENSE ./
COPY enrelm enrelm
COPY enrelm_cli enrelm_cli
COPY sample_data sample_data
COPY docs/man docs/man
RUN python -m build --wheel --outdir /dist .

FROM python:3.13-slim
# Extras by name: docker build --build-arg EXTRAS=plot,onnx -t enrelm .
ARG EXTRAS=""
COPY --from=build /dist /dist
RUN pip install --no-cache-dir "$(echo /dist/*.whl)${EXTRAS:+[$EXTRAS]}" && rm -r /dist \
    && useradd --create-home --uid 1000 enrelm && mkdir /data && chown enrelm /data
USER enrelm
WORKDIR /data
ENTRYPOINT ["enrelm"]
CMD ["--help"]
