"""The pilot: what a task rewards, measured before a search.

How much is looked at (`settings`), which graphs that makes (`plan`), running them (`runs`), what follows (`verdict`), how a person reads it (`account`), the
file (`pilot_file`), the picture (`figure`).
"""
