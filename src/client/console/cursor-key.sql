-- The key that cursors are encrypted with.
select key
  from stint.cursor_key
