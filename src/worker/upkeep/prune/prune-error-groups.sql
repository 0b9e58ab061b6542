-- Remove error groups whose last failure is 90 days old. Groups that are ignored for ever stay: without their row they
-- would be open when they come back. The delete checks last_seen again, since a group may fail meanwhile.
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
