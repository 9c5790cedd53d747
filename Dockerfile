# docker build -t secateur .
# docker run --rm -v "$PWD:/data" secateur simplify loans.csv --target outcome --report page.html
# docker run --rm -it --network host -v "$PWD:/data" secateur open loans.csv --target outcome
# `open` answers on 127.0.0.1 only, so it needs the network of the host.
FROM python:3.12-slim AS build
COPY . /source
RUN python -m venv /secateur && /secateur/bin/pip install --no-cache-dir '/source[all]'

FROM python:3.12-slim
COPY --from=build /secateur /secateur
RUN useradd --create-home person
USER person
WORKDIR /data
ENTRYPOINT ["/secateur/bin/secateur"]
CMD ["--help"]
