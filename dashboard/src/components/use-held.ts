import { useLayoutEffect, useRef, useState } from 'react'

/**
 * Rows that do not move under the pointer. While somebody points at the screen, or has the focus in it, the rows that are
 * shown stay where they are: their content is kept fresh, what is gone is marked as gone, and what is new waits to be let in.
 */
export interface Held<Item> {
  rows: { item: Item; key: string; isGone: boolean }[]
  /** How many new ones wait. */
  waiting: number
  letIn: () => void
}

/** `scope` names what is listed: another filter is another list. `always` holds also while nobody points at it. */
export function useHeld<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  scope = '',
  always = false,
): Held<Item> {
  const order = useRef<{ scope: string; keys: string[]; last: Map<string, Item> }>({
    scope,
    keys: [],
    last: new Map(),
  })
  const [, redraw] = useState(0)
  const isBusy = usePointedAt()

  const fresh = new Map(items.map((item) => [keyOf(item), item]))
  const held = order.current
  const isSame = held.scope === scope && held.keys.length > 0
  if (!isSame || !(always || isBusy.current) || !changesOrder(held.keys, fresh)) {
    order.current = { scope, keys: [...fresh.keys()], last: fresh }
  } else {
    for (const [key, item] of fresh) if (held.last.has(key)) held.last.set(key, item)
  }
  const { keys, last } = order.current
  const shown = new Set(keys)
  return {
    rows: keys.flatMap((key) => {
      const item = fresh.get(key) ?? last.get(key)
      return item === undefined ? [] : [{ item, key, isGone: !always && !fresh.has(key) }]
    }),
    waiting: [...fresh.keys()].filter((key) => !shown.has(key)).length,
    letIn: () => {
      order.current = { scope, keys: [], last: new Map() }
      redraw((count) => count + 1)
    },
  }
}

/** What the rows on the screen are of: while those of another filter or page are on their way, still what was asked before. */
export function useShownScope(query: { isPlaceholderData: boolean }, scope: string): string {
  const shown = useRef(scope)
  if (!query.isPlaceholderData) shown.current = scope
  return shown.current
}

/** Whether rows would move: another order, some more or some less. */
function changesOrder(keys: readonly string[], fresh: ReadonlyMap<string, unknown>): boolean {
  const next = [...fresh.keys()]
  return next.length !== keys.length || next.some((key, index) => key !== keys[index])
}

/** True while the pointer is over the screen's content or something inside of it has the focus. */
function usePointedAt(): { current: boolean } {
  const ref = useRef(false)
  useLayoutEffect(() => {
    const main = document.querySelector('main')
    if (main === null) return
    const look = (): void => {
      ref.current =
        main.matches(':hover') ||
        (main !== document.activeElement &&
          main.contains(document.activeElement) &&
          document.activeElement?.tagName !== 'H1')
    }
    look()
    for (const type of events) document.addEventListener(type, look, true)
    return () => {
      for (const type of events) document.removeEventListener(type, look, true)
    }
  }, [])
  return ref
}
const events = ['pointermove', 'pointerover', 'pointerout', 'focusin', 'focusout'] as const
