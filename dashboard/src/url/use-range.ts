import { useUrl } from './use-url.ts'

export const ranges = { '1h': 3_600_000, '6h': 21_600_000, '24h': 86_400_000, '7d': 604_800_000 } as const
export type Range = keyof typeof ranges

/** The time range of the charts of a screen. */
export function useRange(): [Range, (range: Range) => void] {
  const { param, set } = useUrl()
  const given = param('range')
  const range = given !== undefined && given in ranges ? (given as Range) : '1h'
  return [
    range,
    (next) => {
      set({ range: next === '1h' ? undefined : next })
    },
  ]
}
