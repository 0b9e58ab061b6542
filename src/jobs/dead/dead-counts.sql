-- How many dead letters each of some error groups has now, counted up to :most; without the trash and those that were edited
-- into another job.
select wanted.fingerprint,
       (select count(*)::integer
          from (select
                  from stint.dead
                 where dead.fingerprint = wanted.fingerprint
                   and discarded_at is null
                   and replaced_by is null
                 limit :most::integer) as few) as count
  from unnest(:fingerprints::text[]) as wanted (fingerprint)
