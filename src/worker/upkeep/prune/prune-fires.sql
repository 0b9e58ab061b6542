-- Remove fires that are older than their schedule keeps them. For a fire that was decided late, by a backfill, the time
-- counts from that decision.
--
-- Some fires stay at any age: the last one of a schedule, which says when it last fired; one that waits; and one whose
-- job has not ended, because the next fire looks at that job (overlap).
-- By schedule, each from its earliest fire on and no further than the batch: one that fires every second may have
-- millions. As a range of the whole key, in its order, and with one condition whose selectivity the planner cannot guess:
-- if a planner without statistics expects fewer rows than a batch, it reads and sorts all of them. The job is looked up
-- for one fire at a time, which the limit enforces: a join read all jobs.
with gone as (
  delete from stint.fire
   where ctid = any(array(
           select old.ctid
             from (select name,
                          -- Within the limits of a definition: a number beyond them must not stop the pruning of all.
                          stint.now() - least(greatest(keep_fires_ms, 86400000), 316224000000) * interval '1 millisecond' as kept_from
                     from stint.schedule
                    order by name) as s
            cross join lateral (select max(fire_at) as fire_at from stint.fire where fire.schedule = s.name) as last
            cross join lateral (
                    select f.ctid
                      from stint.fire as f
                     where (f.schedule, f.fire_at) >= (s.name, '-infinity')
                       and (f.schedule, f.fire_at) < (s.name, least(s.kept_from, last.fire_at))
                       and case when f.at < s.kept_from and f.outcome not in ('queued', 'asked')
                                then (select true from stint.job where job.id = f.job_id limit 1) is null
                            end
                     order by f.schedule, f.fire_at
                     limit :skip::integer + :limit::integer
                       for update skip locked) as old
           offset :skip::integer
            limit :limit::integer))
  returning fire_at
)
select count(*)::integer as removed from gone
