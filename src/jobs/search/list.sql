-- One page of jobs, newest first, by keyset: ids are UUIDv7, so their order is the order of making, and every table
-- has an index on them. A filter is looked for in a window of :window rows, no further: a rare queue among millions
-- must not become a scan of them all. list-end.sql says where the window ended. Only the places (live, finished, dead)
-- that can hold the wanted states are looked at: ready jobs are found behind a million newer finished ones.
--
-- `:x is null or` is harmless here: inside the window there is no index to choose any more.
select -- include: jobs/shown
  from (select -- include: jobs/columns
          from stint.jobs
         where id <= :upTo::uuid
           and place = any(:places::text[])
         order by id desc
         limit :window::integer) as seen
 where discarded_at is null
   and (:states::text[] is null or state::text = any(:states::text[]))
   and (:queue::text is null or queue = :queue::text)
   and (:kind::text is null or kind = :kind::text)
   and (:key::text is null or key = :key::text)
   and (:correlationId::text is null or correlation_id = :correlationId::text or id::text = :correlationId::text)
 order by id desc
 limit :limit::integer
