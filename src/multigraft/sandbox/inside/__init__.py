"""What runs inside the walls: the program or the submission, and the judge in a sandbox of its own. Copied there, with the standard library and no more."""
