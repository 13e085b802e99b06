"""Black-box tests: real clients against a platform that `./dev test` has started."""

import contextlib
import threading

import pytest

from sluice_platform import Platform


@pytest.fixture(scope="session")
def platform():
    return Platform()


@pytest.fixture
def opened():
    """Takes what a driver has opened, gives it back, and closes it when the test is over."""
    with contextlib.ExitStack() as kept:
        yield lambda connection: kept.enter_context(contextlib.closing(connection))


@pytest.fixture
def cancelling():
    """Cancels again and again while the block runs: until the request has met the statement."""
    @contextlib.contextmanager
    def until_met(cancel):
        ended = threading.Event()

        def again():
            while not ended.wait(0.1):
                cancel()

        canceller = threading.Thread(target=again)
        canceller.start()
        try:
            yield
        finally:
            ended.set()
            canceller.join()

    return until_met
