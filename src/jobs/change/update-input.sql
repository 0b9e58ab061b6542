-- Give a job that is not running another input, with the values that its contract derives from it, if the job still has
-- the input that the caller has read.
with changed as (
  update stint.job
     set input      = :input::text::jsonb,
         input_blob = :inputBlob::text,
         version    = :version::smallint,
         key        = :key::text,
         search     = :tokens::text[],
         -- Nothing in the new input stands for the output of another job.
         options    = options::jsonb - 'references',
         -- A unique key from the call stays; a key that was derived from the old input is replaced by the one of the
         -- new input.
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
