-- Cut values that are too long to be stored with the endings of these jobs, if their lease still holds. Returns the ids
-- of the changed jobs, and the cut columns.
--
-- Indexes of `finished` and `dead` limit the length of their values, and `job` has no index on these columns: a row
-- that was written by hand runs, but its ending cannot be stored. The limits are those of enqueue: 256 bytes of a
-- correlation id, 512 of a key, 8 words of 321; a text is cut to a number of characters that fits even if each of them
-- takes the most bytes.
with long as materialized (
  select id,
         array_remove(array[
           case when octet_length(correlation_id) > 256 then 'correlation_id' end,
           case when octet_length(key) > 512 then 'key' end,
           case when exists (select from unnest(search) as word where word is null or octet_length(word) > 321)
                  or cardinality(search) > 9 then 'search' end], null) as columns
    from stint.job
   where id       = any(:ids::uuid[])
     and lease_id = any(:leaseIds::uuid[])
     for no key update skip locked
), cut as (
  update stint.job
     set correlation_id = case when octet_length(correlation_id) > 256 then left(correlation_id, 63) || '…'
                               else correlation_id end,
         key            = case when octet_length(key) > 512 then left(key, 127) || '…' else key end,
         search         = case when search is not null
                               then array(select left(word, 80) from unnest(search) as word where word is not null limit 8) end
   where id = any(array(select id from long where columns <> '{}'))
)
select id, columns
  from long
 where columns <> '{}'
