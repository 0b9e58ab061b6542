-- Note a migration as applied, in the transaction that applied it.
insert into stint.migration (version, name)
values (:version::integer, :name::text)
