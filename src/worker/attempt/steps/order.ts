/**
 * Gives results to a handler in one order, in every attempt: the order in which they were recorded.
 *
 * `Promise.race` takes the first result. Were recorded results given in the order of the calls, a race would have another
 * winner when the handler is repeated, and the handler would take another way. So each result has a place. A result waits for
 * those in front of it, and only one is given at a time: what the handler does with it comes first.
 *
 * A recorded result that is not asked for while a later one is ready is waited for during one turn of the event loop: the call
 * may depend on a result that was just given. Then it is passed over: the code may have changed.
 */
export class Order {
  readonly #places: Place[] = []
  #next = 0
  #isResting = false
  /** How many results are there and not given. */
  ready = 0

  /** The place of a result that an earlier attempt recorded. */
  expect(): Place {
    return this.#add('expected')
  }

  /** The place of a new result, behind all others. */
  add(): Place {
    return this.#add('asked')
  }

  /** Gives the next result, if it is there. */
  advance(): void {
    while (!this.#isResting) {
      const place = this.#places[this.#next]
      if (place === undefined) {
        this.#places.length = this.#next = 0
        return
      }
      if (place.state === 'over') {
        this.#next++
      } else if (place.state === 'ready') {
        this.#rest((goOn) => {
          // After all that the handler does at once with the result.
          process.nextTick(goOn)
        })
        place.give()
      } else {
        if (place.state === 'asked' || this.ready === 0) return
        this.#rest((goOn) => {
          setImmediate(() => {
            this.#passOver()
            goOn()
          })
        })
      }
    }
  }

  #rest(start: (goOn: () => void) => void): void {
    this.#isResting = true
    start(() => {
      this.#isResting = false
      this.advance()
    })
  }

  #passOver(): void {
    for (; this.#places[this.#next]?.state === 'expected'; this.#next++) this.#places[this.#next]?.give()
  }

  #add(state: 'expected' | 'asked'): Place {
    const place = new Place(this, state)
    this.#places.push(place)
    return place
  }
}

/** The place of one result. */
export class Place {
  state: 'expected' | 'asked' | 'ready' | 'over'
  readonly #order: Order
  #go: () => void = () => undefined

  constructor(order: Order, state: 'expected' | 'asked') {
    this.#order = order
    this.state = state
  }

  /** The handler has asked for the result. */
  ask(): void {
    if (this.state === 'expected') this.state = 'asked'
  }

  /** The result is there: resolves when it may be given to the handler. */
  turn(): Promise<void> {
    if (this.state === 'over') return Promise.resolve()
    if (this.state !== 'ready') this.#order.ready++
    this.state = 'ready'
    return new Promise((resolve) => {
      this.#go = resolve
      this.#order.advance()
    })
  }

  give(): void {
    if (this.state === 'ready') this.#order.ready--
    this.state = 'over'
    this.#go()
  }

  /** There will be no result here. */
  leave(): void {
    if (this.state === 'over') return
    this.give()
    this.#order.advance()
  }
}
