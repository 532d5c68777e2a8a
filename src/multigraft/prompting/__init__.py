"""From a call to the messages a model is sent; the wording lives in `templates/`, one folder a task family. Pure."""
