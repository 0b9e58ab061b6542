-- Count the endings of these flows. Returns hints for workers, and the flows that another session counts at this moment.
select type, id, queue, priority, key from stint.count_endings(:flows::uuid[])
