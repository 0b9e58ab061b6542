-- Put tokens back into a bucket or take more, and close it for a time: 0010_rates.sql.
select stint.change_bucket(:name::text, :key::text, :given::double precision, :closeMs::double precision)
