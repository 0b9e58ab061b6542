-- Forget minutes that are older than :keepMs, some at a time, the oldest first.
delete from stint.stat_minute
 where (minute, queue, kind, process) in (
         select minute, queue, kind, process
           from stint.stat_minute
          where minute < stint.now() - :keepMs::float8 * interval '1 millisecond'
          order by minute
          limit :limit::integer
            for update skip locked)
returning 1 as gone
