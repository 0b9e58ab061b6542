-- Close a bucket of a rate until a time.
select stint.change_bucket(:name::text, :key::text, 0, :until::timestamptz)
