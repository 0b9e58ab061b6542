-- The days of history that no queue keeps any more.
select parent, day_table as "dayTable", is_attached as "isAttached", is_pending as "isPending", is_ours as "isOurs"
  from stint.old_days()
