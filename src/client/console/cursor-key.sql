-- The key that encrypts cursors.
select key
  from stint.cursor_key
