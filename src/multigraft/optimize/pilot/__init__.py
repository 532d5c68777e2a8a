"""The pilot: what a task rewards, measured before a search.

Which graphs are run (`plan`), what follows from them (`verdict`), how a person reads it (`account`), the file (`pilot_file`), the picture (`figure`).
"""
