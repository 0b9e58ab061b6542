import { useKeys } from '../keys.ts'

/** j and k move through the rows of a table, x selects one. They move the focus, so Enter and screen readers follow. */
export function useRowKeys(): void {
  useKeys([
    {
      key: 'j',
      label: 'next row',
      run: () => {
        move(1)
      },
    },
    {
      key: 'k',
      label: 'previous row',
      run: () => {
        move(-1)
      },
    },
    {
      key: 'x',
      label: 'select the row',
      run: () => {
        currentRow()?.querySelector<HTMLInputElement>('input[type=checkbox]')?.click()
      },
    },
  ])
}

export function currentRow(): HTMLElement | null {
  return document.activeElement?.closest<HTMLElement>('[data-row]') ?? null
}

function move(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-row]')]
  const current = currentRow()
  const index = current === null ? (step === 1 ? -1 : rows.length) : rows.indexOf(current)
  const target = rows[index + step]
  target?.querySelector<HTMLElement>('[data-row-link]')?.focus()
  target?.scrollIntoView({ block: 'nearest' })
}
