-- Lines that a job logged, from one line on, oldest first.
select epoch, line, at, level, message, data
  from stint.log
 where job_id = :id::uuid
   and (epoch, line) > (:afterEpoch::integer, :afterLine::integer)
   and epoch <= :lastEpoch::integer
 order by epoch, line
 limit :limit::integer
