-- Add to the totals of jobs that were refused: { queue: jobs }.
select stint.note_refused(:refused::jsonb)
