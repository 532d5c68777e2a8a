"""From a run file to the objects of a run."""
