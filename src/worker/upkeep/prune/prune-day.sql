-- Remove old rows from some pages of a day.
select removed, is_held as "isHeld", is_end as "isEnd"
  from stint.prune_day(:dayTable::text, :kept::interval, :fromPage::bigint, :pages::integer, :most::integer)
