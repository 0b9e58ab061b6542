-- The time, and whether any worker is alive.
select stint.now() as now,
       exists (select from stint.worker where lost_at is null and lease_until >= stint.now()) as "isAny"
