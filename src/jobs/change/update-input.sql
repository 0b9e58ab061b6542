-- Give a job that is not running another input, with what its contract derives from it, where the job still has the
-- input that this was derived against.
with changed as (
  update stint.job
     set input      = :input::text::jsonb,
         input_blob = :inputBlob::text,
         version    = :version::smallint,
         key        = :key::text,
         search     = :tokens::text[],
         -- A key that the call gave stays; one that was made of the old input is made of the new one.
         unique_key = case when unique_key = kind || ' ' || :oldUnique::text
                           then kind || ' ' || :newUnique::text
                           else unique_key
                      end
   where id = :id::uuid
     and kind = :kind::text
     and state <> 'running'
     and input is not distinct from :oldInput::text::jsonb
     and input_blob is not distinct from :oldInputBlob::text
  returning id
), kept as (
  insert into stint.blob (key, job_id)
  select :inputBlob::text, id
    from changed
   where :inputBlob::text is not null
)
select id from changed
