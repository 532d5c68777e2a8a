"""How tests are shared out between processes (`pytest -n 2 --dist loadgroup`)."""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of a file together, and all that run an embedded model: two of these at once fight for the cores, and each takes ten times as long."""
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        group = "embedded" if item.get_closest_marker("real") else str(item.path)
        item.add_marker(pytest.mark.xdist_group(group))
