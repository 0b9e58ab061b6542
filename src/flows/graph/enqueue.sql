-- Store flows with their nodes and jobs: all of them, or none. Answers in the order given.
select flow_id as id, outcome from stint.enqueue_flows(:flows::text) order by ordinal
