"""From the settings of a run to its objects: the only place that knows all packages."""
