-- Lock flows that no other session counts at this moment, before they are read again.
select id from stint.flow where id = any(:flows::uuid[]) order by id for no key update skip locked
