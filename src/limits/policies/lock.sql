-- Take the locks of a claim of this queue, for the rest of the transaction.
select stint.lock_limits(:queue::text, :keys::text[])
