"""A store that speaks S3, for the suite: moto's server, behind a check of the access keys that it was told.

It prints its address and that of Azurite, and ends with its standard input: with whoever has started it. It is started
before the platform under test, which has to be told by name that it may reach them.
"""

import logging
import sys
import threading

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

import containers

# moto lets everybody in, whatever they sign with.
KNOWN_KEYS = "/known-access-keys"
REFUSED = "<Error><Code>InvalidAccessKeyId</Code><Message>no such key</Message><AWSAccessKeyId>{}</AWSAccessKeyId></Error>"


class KeyCheck:
    def __init__(self):
        self.store, self.known = DomainDispatcherApplication(create_backend_app), set()

    def __call__(self, request, answer):
        if request["PATH_INFO"] == KNOWN_KEYS:
            self.known = set(request["wsgi.input"].read(int(request["CONTENT_LENGTH"])).decode().split())
            answer("204 No Content", [])
            return []
        key = request.get("HTTP_AUTHORIZATION", "").partition("Credential=")[2].partition("/")[0]
        if key not in self.known:
            # what is not read ends the connection, before its other side has read the answer
            request["wsgi.input"].read(int(request.get("CONTENT_LENGTH") or 0))
            body = REFUSED.format(key).encode()
            answer("403 Forbidden", [("content-type", "application/xml"), ("content-length", str(len(body)))])
            return [body]
        return self.store(request, answer)


def main():
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, KeyCheck(), threaded=True, request_handler=MotoRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    host, port = server.server_address[:2]
    with containers.running() as azurite:
        print(f"{host}:{port} {azurite}", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
