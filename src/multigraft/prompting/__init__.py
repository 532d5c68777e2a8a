"""From a call to the messages a model is sent (`render`); what stands in `{{...}}` (`places`).

The wording lies in `templates/`, one folder a task family, and is loaded by `library`. Pure.
"""
