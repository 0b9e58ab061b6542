-- Whether a session was ended before it expired.
select true as is_ended
  from stint.ended_session
 where digest = :digest::bytea
