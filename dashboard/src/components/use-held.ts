import { useLayoutEffect, useRef, useState } from 'react'

/**
 * Rows that do not move under the pointer. While the pointer is over the screen, or the focus is in it, the shown rows keep
 * their places: their content is updated, removed rows are marked as gone, and new rows wait until `letIn` is called.
 */
export interface Held<Item> {
  rows: { item: Item; key: string; isGone: boolean }[]
  /** The number of new rows that wait. */
  waiting: number
  letIn: () => void
}

/** `scope` identifies the list: another filter is another list. `always` keeps the places also without pointer and focus. */
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

/** The scope of the shown rows. While another filter or page loads, it is still the previous scope. */
export function useShownScope(query: { isPlaceholderData: boolean }, scope: string): string {
  const shown = useRef(scope)
  if (!query.isPlaceholderData) shown.current = scope
  return shown.current
}

/** Whether rows would move: another order, more rows or fewer. */
function changesOrder(keys: readonly string[], fresh: ReadonlyMap<string, unknown>): boolean {
  const next = [...fresh.keys()]
  return next.length !== keys.length || next.some((key, index) => key !== keys[index])
}

/** True while the pointer is over the screen's content, or an element inside it has the focus. */
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
