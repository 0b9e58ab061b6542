-- The ready jobs of a lane, in the words of job_ready_keyed.
job.queue = :queue::text
and job.key = lane.key
and job.key is not null
and job.state = 'ready'
and job.priority = lane.priority
