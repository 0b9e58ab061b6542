-- Pick jobs of a limited queue without claiming them, for the rest of the transaction. Used when claim-limited.sql failed because
-- of one row: claim-these.sql then takes the others, under the same lock.
select picked
  from stint.pick_limited(
         :queue::text, :kinds::jsonb, :limit::integer, :keys::text[], :priorities::smallint[], :floorAts::timestamptz[],
         :floorIds::uuid[], :takes::integer[], :ordered::boolean[])
