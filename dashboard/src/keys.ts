/**
 * Keyboard shortcuts. A screen registers its keys while it is mounted. The newest registration wins, so the keys of a
 * dialog come before those of the screen below. `g` is the first of a pair of keys.
 */
import { useLayoutEffect, useRef } from 'react'
import { preferences } from './text/preferences.ts'

export interface Key {
  /** As it is typed: `r`, `?`, `Escape`, `g o`, `mod+k`. */
  key: string
  label: string
  run: () => void
}

const layers: { keys: () => readonly Key[] }[] = []
const pairMs = 1_500
let first: { key: string; at: number } | undefined

export function useKeys(keys: readonly Key[]): void {
  const latest = useRef(keys)
  latest.current = keys
  // Before paint, so that the keys of a screen work as soon as it is visible, and those of the old screen no longer do.
  useLayoutEffect(() => {
    const layer = { keys: () => latest.current }
    layers.push(layer)
    return () => {
      layers.splice(layers.indexOf(layer), 1)
    }
  }, [])
}

/** The current shortcuts, for the help dialog. */
export function activeKeys(): Key[] {
  return layers.flatMap((layer) => layer.keys())
}

export function listenToKeys(): void {
  document.addEventListener('keydown', (event) => {
    const key = find(event)
    if (key === undefined) return
    event.preventDefault()
    key.run()
  })
}

function find(event: KeyboardEvent): Key | undefined {
  if (event.defaultPrevented || event.isComposing) return undefined
  const mod = event.ctrlKey || event.metaKey
  if (mod) return lookUp(`mod+${event.key.toLowerCase()}`)
  if (event.altKey) return undefined
  // A dialog closes by itself.
  if (event.key === 'Escape')
    return document.querySelector('dialog[open]') === null ? lookUp('Escape') : undefined
  if (!preferences().singleKeys || isTyping(event.target) || document.querySelector('dialog[open]') !== null)
    return undefined
  const before = first !== undefined && performance.now() - first.at < pairMs ? first.key : undefined
  first = undefined
  if (before !== undefined) return lookUp(`${before} ${event.key}`)
  if (event.key === 'g') {
    first = { key: 'g', at: performance.now() }
    return undefined
  }
  return lookUp(event.key)
}

function lookUp(key: string): Key | undefined {
  for (const layer of layers.toReversed()) {
    const found = layer.keys().find((each) => each.key === key)
    if (found !== undefined) return found
  }
  return undefined
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target instanceof HTMLInputElement)
    return !['checkbox', 'radio', 'button', 'submit'].includes(target.type)
  return target.isContentEditable || ['TEXTAREA', 'SELECT'].includes(target.tagName)
}
