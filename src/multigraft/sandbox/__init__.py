"""Running code that a model wrote: in processes of their own behind bubblewrap, seccomp and limits, judged from a second one that the code cannot reach."""
