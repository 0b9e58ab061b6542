-- Close an open flow: its nodes take no more jobs.
select type, queue, priority, key from stint.close_flow(:flow::uuid)
