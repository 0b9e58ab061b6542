-- What an approval link asks for, and whether its question is answered. One row, also where all of it is gone.
--
-- Only a job that lives or is dead has records and signals: what a job that has ended asked for is gone with it. The columns
-- are one plain word each, like those of send-signal.sql.
select job.kind, step.result as asked,
       signal.payload as given,
       signal.sent_at as answered,
       stint.now() >= to_timestamp(:expiresAt::float8 / 1000) as expired
  from (select :job::uuid as id) as link
  left join lateral (
         select kind
           from stint.job
          where id = link.id
         union all
         select kind
           from stint.dead
          where id = link.id
            and discarded_at is null
          limit 1) as job on true
  left join lateral (
         select result
           from stint.step
          where job_id = link.id
            and name = :name::text
            and result ->> 'id' = :id::text
          limit 1) as step on true
  left join lateral (
         select payload, sent_at
           from stint.signal
          where job_id = link.id
            and name = :signal::text
            and key = :id::text
          limit 1) as signal on true
