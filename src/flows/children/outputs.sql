-- How the jobs of sets of children ended, in the order of the sets and the jobs: a page behind the set :place and its job :member.
--
-- A page has 1,000 rows and, as they are stored, 4 MiB of results, but always one row. Results are text: the reader counts their
-- bytes before it parses them.
select place::integer - 1 as place, member, id, state, result::text, error
  from (select output.*,
               sum(size) over (order by place, member) - size as before
          from (select asked.place, one.*
                  from unnest(:flows::uuid[]) with ordinality as asked (flow_id, place)
                 cross join lateral (
                         select member, job_id as id, state::text, result,
                                jsonb_build_object('name', left(error ->> 'name', 200), 'message', left(error ->> 'message', 2000),
                                                   'code', left(error ->> 'code', 200)) as error,
                                coalesce(pg_column_size(result), 0) as size
                           from stint.flow_output
                          where flow_output.flow_id = asked.flow_id
                            and node = 0
                            and member > case when asked.place = :place::integer + 1 then :member::integer else -1 end
                          order by member
                          limit 1000) as one
                 where asked.place > :place::integer
                 order by asked.place, member
                 limit 1000) as output) as page
 where before < 4 * 1024 * 1024
 order by place, member
