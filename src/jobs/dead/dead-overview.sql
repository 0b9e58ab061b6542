-- What lies in the trash, counted up to :most, and when the oldest dead letter that does not died.
select (select count(*)::integer
          from (select
                  from stint.dead
                 where discarded_at is not null
                 -- Else all dead letters are looked at, for there may be no trash among them.
                 order by discarded_at
                 limit (select :most::integer)) as few) as trash,
       (select died_at
          from (select died_at, discarded_at, replaced_by from stint.dead order by id limit :window::integer) as oldest
         where discarded_at is null
           and replaced_by is null
         limit 1) as "oldestDiedAt"
