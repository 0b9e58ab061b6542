-- How many endings of jobs of flows wait to be counted for longer than a while, among the 10,000 that the table has first.
select count(*)::integer as endings, min(flow_id::text) as flow,
       ((extract(epoch from stint.now()) - extract(epoch from min(written_at)))::float8 * 1000) as "oldestMs"
  from (select flow_id, written_at
          from stint.flow_ending
         limit 10000) as waiting
 where written_at < stint.now() - :endingMs::float8 * interval '1 millisecond'
