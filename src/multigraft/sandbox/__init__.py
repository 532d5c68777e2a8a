"""Generated code at a distance: run in a box of kernel walls, judged by another process, refused where no box can be built."""
