"""What multigraft serves over HTTP: one local reward, its batches filled from the requests of many workers.

`batching` holds the queue and feeds the scorer, which lives in a thread of its own (`worker`); `body` reads requests within limits, `guard` decides who may
ask, `reading` and `writing` know the routes' shapes, `application` puts them together and `serving` runs it until it is told to stop.
"""
