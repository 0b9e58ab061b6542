-- Forget how often errors happened in hours that are older than :keepMs, some at a time. The groups stay.
delete from stint.error_hour
 where (fingerprint, hour, process) in (
         select fingerprint, hour, process
           from stint.error_hour
          where hour < stint.now() - :keepMs::float8 * interval '1 millisecond'
          order by hour
          limit :limit::integer
            for update skip locked)
returning 1 as gone
