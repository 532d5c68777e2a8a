"""Models whose answers are drawn, not written: worlds in which thousands of runs take minutes, to compare methods in.

What is known of a task and its models (`tasks`); how a draw is keyed (`keyed`); how one call comes out, given what it reads (`mechanism`); graphs of such calls
on questions (`world`), and what they cost (`costs`). Needs numpy.
"""
