"""Black-box tests: real clients against a platform that `./dev test` has started."""

import pytest

from sluice_platform import Platform


@pytest.fixture(scope="session")
def platform():
    return Platform()
