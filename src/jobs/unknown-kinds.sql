-- Ready jobs that this worker passes over, by kind, among the first :window of each queue with and without keys.
--
-- The bounds of the key are always true: a range that is closed at both ends is taken for narrow, and read in order.
-- Without the order a limit invites a scan of the table itself, and a queue of few jobs among a million reads it all.
select queue, kind, count(*)::integer as jobs
  from unnest(:queues::text[]) as served (queue)
 cross join lateral (
         (select job.kind, job.version
            from stint.job
           where job.queue = served.queue
             and job.key is null
             and job.state = 'ready'
           limit :window::integer)
         union all
         (select job.kind, job.version
            from stint.job
           where job.queue = served.queue
             and job.key between '' and chr(1114111)
             and job.key is not null
             and job.state = 'ready'
           limit :window::integer)) as seen
 where (version <= (:kinds::jsonb ->> kind)::smallint) is not true
 group by queue, kind
