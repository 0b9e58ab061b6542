-- When an approval link that is made now expires, in milliseconds since 1970, by the clock of the database.
select floor(extract(epoch from stint.now() + :ms::float8 * interval '1 millisecond') * 1000)::float8 as at
