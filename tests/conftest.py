"""How tests are shared out between processes (`pytest -n 2 --dist loadgroup`)."""

import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    """Keep the tests of a file together, and all that run an embedded model: two of these at once fight for the cores, and each takes ten times as long."""
    if item.config.pluginmanager.hasplugin("xdist"):
        group = "embedded" if item.get_closest_marker("real") else str(item.path)
        item.add_marker(pytest.mark.xdist_group(group))
