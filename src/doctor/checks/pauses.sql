-- The pauses in effect, with how long the oldest ready job that each one holds has waited; only
-- those that hold one for longer than :heldMs. Reads the view stint.jobs, which the role of viewers may read.
--
-- Each looks at the oldest ready jobs of its queue, up to :most of them, by the order of an index: of a kind or key that has
-- few jobs among many others, the oldest may be missed.
with recursive
  -- include: jobs/paused
select paused.queue, nullif(paused.kind, '') as kind, nullif(paused.key, '') as key, paused.paused_by as by, paused.reason,
       ((extract(epoch from stint.now()) - extract(epoch from held.oldest)) * 1000)::float8 as "heldMs"
  from paused
 cross join lateral (
         select min(seen.run_at) as oldest
           from ((select j.run_at, j.kind
                    from stint.jobs as j
                   where place = 'live' and state = 'ready' and key is null and j.queue = paused.queue and paused.key = ''
                   order by priority desc, run_at, id
                   limit :most::integer)
                 union all
                 (select j.run_at, j.kind
                    from stint.jobs as j
                   where place = 'live' and state = 'ready' and key is not null and j.queue = paused.queue and paused.key = ''
                   order by key, priority desc, run_at, id
                   limit :most::integer)
                 union all
                 (select j.run_at, j.kind
                    from stint.jobs as j
                   where place = 'live' and state = 'ready' and key is not null and j.queue = paused.queue and j.key = paused.key
                     and paused.key <> ''
                   order by key, priority desc, run_at, id
                   limit :most::integer)) as seen
          where paused.kind = '' or seen.kind = paused.kind) as held
 where held.oldest < stint.now() - :heldMs::float8 * interval '1 millisecond'
 order by held.oldest
 limit 100
