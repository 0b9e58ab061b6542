-- Remove notes of the audit that are older than the owner of the tables keeps them. A function decides which: no role may
-- delete a note.
select stint.prune_audit(:skip::integer, :limit::integer) as removed
