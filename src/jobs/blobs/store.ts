/**
 * Where inputs go that are too large for a row. Keys are made by Stint, from letters, digits, `-` and `/`.
 *
 * put must be durable when it resolves, and the same key may be put twice with the same bytes. delete of a key that
 * is not there succeeds. list gives keys in any order; one that is put or deleted meanwhile may or may not appear.
 */
export interface BlobStore {
  put(key: string, bytes: Uint8Array): Promise<void>
  /** The bytes, or undefined if the key does not exist. */
  get(key: string): Promise<Uint8Array | undefined>
  delete(key: string): Promise<void>
  list(): AsyncIterable<string>
}
