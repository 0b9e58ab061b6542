-- The last lines that a job logged, newest first.
select epoch, line, at, level, message, data
  from stint.log
 where job_id = :id::uuid
   and (epoch, line) > (:afterEpoch::integer, :afterLine::integer)
   and epoch <= :lastEpoch::integer
 order by epoch desc, line desc
 limit :limit::integer
