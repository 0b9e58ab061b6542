-- The number of dead letters in the trash, counted up to :most, and when the oldest of the others died.
select (select count(*)::integer
          from (select
                  from stint.dead
                 where discarded_at is not null
                 -- Without this order all dead letters may be read, because there may be none in the trash.
                 order by discarded_at
                 limit (select :most::integer)) as few) as trash,
       (select died_at
          from (select died_at, discarded_at, replaced_by from stint.dead order by id limit :window::integer) as oldest
         where discarded_at is null
           and replaced_by is null
         limit 1) as "oldestDiedAt"
