-- Drop the record of blobs that are gone from the store.
delete from stint.blob
 where key = any(:keys::text[])
