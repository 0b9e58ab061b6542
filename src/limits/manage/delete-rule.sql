-- Delete the limit or the rate of a name with its covers, key rules and buckets, unless a live worker has it in its code.
-- Returns the queues that it covered; an empty text stands for the rule itself.
with free as materialized (
  select
   where not exists (
           select from stint.worker
            where worker.lost_at is null
              and worker.about -> 'limits' ? :name::text)
), limits as (
  delete from stint.concurrency_limit using free where name = :name::text returning name
), rates as (
  delete from stint.rate using free where name = :name::text returning name
), buckets as (
  delete from stint.rate_bucket using free where name = :name::text
), keys as (
  delete from stint.limit_key using free where name = :name::text returning name
), covers as (
  delete from stint.limit_cover using free where name = :name::text and type in ('concurrency', 'rate') returning queue
)
select queue from covers
union
select '' where exists (select from limits) or exists (select from rates) or exists (select from keys)
