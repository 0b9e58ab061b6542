-- Ready jobs that this worker skips, by kind, among the first :window of each queue with and without keys.
--
-- The bounds of the key are always true: the planner takes a range that is closed at both ends for narrow, and reads it
-- in order. Without the order it would choose a scan of the table because of the limit, and a queue of few jobs among a
-- million would read it all.
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
