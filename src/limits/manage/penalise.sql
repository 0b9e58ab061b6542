-- Close a bucket of a rate until a time, at most for a day.
select stint.change_bucket(
         :name::text, :key::text, 0,
         least(86400000, greatest(0, extract(epoch from :until::timestamptz - stint.now()) * 1000))::float8)
