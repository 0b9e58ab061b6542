-- The last records of the steps of a job, for people, in the order in which they were recorded.
--
-- A result is left out once the results so far are larger than :maxBytes as they are stored: those of a job may have 32 MiB
-- together. pg_column_size() says how large one is without reading it.
select name, n, type, state, tries, started_at as "startedAt", ended_at as "endedAt", until, error,
       case when bytes <= :maxBytes::bigint then result end as result,
       result is not null and bytes <= :maxBytes::bigint as "hasResult",
       result is not null and bytes > :maxBytes::bigint as "isCut"
  from (select last.*, sum(pg_column_size(result)) over (order by seq, name, n) as bytes
          from (select *
                  from stint.step
                 where job_id = :id::uuid
                 order by seq desc, name desc, n desc
                 limit :limit::integer) as last) as sized
 order by seq, name, n
