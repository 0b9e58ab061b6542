-- Count the queues that have a rule about how full they may get, where that is older than two seconds: stint.enqueue() reads it.
select stint.refresh_pressure(array(select name from stint.queue where pressure is not null order by name limit 1000))
