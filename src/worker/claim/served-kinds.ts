/** What a pool must know of the handlers of its queue. */
export interface ServedKinds {
  batchSize: number
  /** Which of the kinds start in order by key. */
  ordering: 'none' | 'some' | 'all'
}
