"""Chat models as judges, one kind a file: of one response, of two, of all of a prompt, and several judges as one.

What a response says cannot be read as a verdict: only the judge's own reply is parsed, and a reply without a verdict is no score, never a middle one.
"""
