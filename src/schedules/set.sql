-- Store a schedule's definition. A changed definition counts from now on; a pause stays. An unchanged one is not written
-- again, unless source or app version differ. During a pause with an end, next_fire_at may lie before that end: the tick
-- then decides nothing, because `decided_to` is the end of the pause, and stores the right next time.
--
-- An equal digest does not prove that the row is unchanged: someone may have updated the columns by hand. So the statement
-- also compares the columns and checks that the times are plausible. A schedule repaired this way is tried again at once.
insert into stint.schedule as s (
  name, kind, queue, spec, time_zone, job, input, input_from_code, overlap, missed, missed_limit, missed_window_ms,
  jitter_ms, keep_fires_ms, starts_at, ends_at, source, app_version, digest, decided_to, next_fire_at)
select :name::text, d.kind, d.queue, d.spec, d."timeZone", d.job, d.input, d."inputFromCode", d.overlap, d.missed,
       d."missedLimit", d."missedWindowMs", d."jitterMs", coalesce(d."keepFiresMs", 2592000000), d."startsAt", d."endsAt",
       :source::text, :appVersion::text, :digest::text, :decidedTo::timestamptz, :nextFireAt::timestamptz
  from jsonb_to_record(:definition::text::jsonb) as d (
         kind text, queue text, spec jsonb, "timeZone" text, job jsonb, input jsonb, "inputFromCode" boolean, overlap text,
         missed text, "missedLimit" integer, "missedWindowMs" bigint, "jitterMs" bigint, "keepFiresMs" bigint,
         "startsAt" timestamptz, "endsAt" timestamptz)
on conflict (name) do update
   set kind             = excluded.kind,
       queue            = excluded.queue,
       spec             = excluded.spec,
       time_zone        = excluded.time_zone,
       job              = excluded.job,
       input            = excluded.input,
       input_from_code  = excluded.input_from_code,
       overlap          = excluded.overlap,
       missed           = excluded.missed,
       missed_limit     = excluded.missed_limit,
       missed_window_ms = excluded.missed_window_ms,
       jitter_ms        = excluded.jitter_ms,
       keep_fires_ms    = excluded.keep_fires_ms,
       -- A longer keepFires counts from now on: fires that may already have been pruned still count as forgotten.
       forgotten_to     = case when excluded.keep_fires_ms > s.keep_fires_ms
                                    and s.created_at < stint.now() - least(greatest(s.keep_fires_ms, 0), 316224000000) * interval '1 millisecond'
                               then greatest(s.forgotten_to, stint.now() - least(greatest(s.keep_fires_ms, 0), 316224000000) * interval '1 millisecond')
                               else s.forgotten_to end,
       starts_at        = excluded.starts_at,
       ends_at          = excluded.ends_at,
       source           = excluded.source,
       app_version      = excluded.app_version,
       digest           = excluded.digest,
       decided_to       = case when s.digest = excluded.digest and s.decided_to between '1970-01-01Z' and '2200-01-01Z' then s.decided_to
                               else greatest(excluded.decided_to, case when s.paused_until < '2200-01-01Z' then s.paused_until end) end,
       next_fire_at     = case when s.paused_at is not null and s.paused_until is null then null
                               when s.digest = excluded.digest then least(s.next_fire_at, excluded.next_fire_at)
                               else excluded.next_fire_at end,
       failures         = 0,
       last_error       = null,
       retry_at         = null,
       turn             = case when s.turn < 9223372036854775807 then s.turn + 1 else 1 end,
       updated_at       = case when s.digest = excluded.digest then s.updated_at else stint.now() end
 where s.digest <> excluded.digest
    or s.source <> excluded.source
    or s.app_version is distinct from excluded.app_version
    or s.decided_to not between '1970-01-01Z' and '2200-01-01Z'
    or (s.kind, s.queue, s.spec, s.time_zone, s.job, s.input, s.input_from_code, s.overlap, s.missed, s.missed_limit,
        s.missed_window_ms, s.jitter_ms, s.keep_fires_ms, s.starts_at, s.ends_at)
       is distinct from
       (excluded.kind, excluded.queue, excluded.spec, excluded.time_zone, excluded.job, excluded.input,
        excluded.input_from_code, excluded.overlap, excluded.missed, excluded.missed_limit,
        excluded.missed_window_ms, excluded.jitter_ms, excluded.keep_fires_ms, excluded.starts_at, excluded.ends_at)
    or (s.paused_at is null and s.next_fire_at is distinct from least(s.next_fire_at, excluded.next_fire_at))
returning name
