"""One browser for all tests of pages."""

from collections.abc import Iterator

import pytest
from devtools import Browser


@pytest.fixture(scope="package")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    made = Browser(tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """No page has an error, of its script or of what it may load."""
    chromium.errors.clear()
    chromium.seen_as("screen", "light")
    yield chromium
    assert chromium.errors == []
