-- Note with a worker which of its queues it cannot claim from, for people to see. Written when that changes, never per job.
update stint.worker
   set about = about || jsonb_build_object('failing', :failing::text::jsonb)
 where id = :worker::uuid
   and lost_at is null
