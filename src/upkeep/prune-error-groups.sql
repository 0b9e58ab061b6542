-- Remove groups of errors that nobody has seen for 90 days, but those that are ignored for ever: they would be open when
-- they come back. One that is seen meanwhile is looked at again.
with gone as (
  delete from stint.error_group
   where fingerprint = any(array(
           select fingerprint
             from stint.error_group
            where last_seen < stint.now() - interval '90 days'
              and (status <> 'ignored' or ignored_until is not null)
            order by last_seen, fingerprint
           offset :skip::integer
            limit :limit::integer
              for update skip locked))
     and last_seen < stint.now() - interval '90 days'
  returning fingerprint
)
select count(*)::integer as removed from gone
