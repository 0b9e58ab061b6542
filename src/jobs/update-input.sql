-- Give a job that is not running another input, with all that is derived from it.
with changed as (
  update stint.job
     set input      = :input::text::jsonb,
         input_blob = :inputBlob::text,
         version    = :version::smallint,
         key        = :key::text,
         search     = :tokens::text[],
         unique_key = case when unique_key is not null
                           then kind || ' ' || coalesce(:uniqueBy::text, :inputDigest::text,
                                  encode(sha256(convert_to(:input::text::jsonb::text, 'UTF8')), 'hex'))
                      end
   where id = :id::uuid
     and kind = :kind::text
     and state <> 'running'
  returning id
), kept as (
  insert into stint.blob (key, job_id)
  select :inputBlob::text, id
    from changed
   where :inputBlob::text is not null
)
select id from changed
