-- The totals of each rate: those of its buckets, and of buckets that are gone. A rate by key has a bucket for each key in use.
select rate.name, rate.taken + coalesce(total.taken, 0) as taken, rate.refused + coalesce(total.refused, 0) as refused
  from stint.rate
  left join (select name, sum(taken) as taken, sum(refused) as refused from stint.rate_bucket group by name) as total
    on total.name = rate.name
 order by rate.name
 limit 1000
