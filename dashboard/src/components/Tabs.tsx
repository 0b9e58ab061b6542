import { useId } from 'react'
import type { ReactNode } from 'react'
import { useUrl } from '../url/use-url.ts'

interface Tab {
  name: string
  title: string
  content: () => ReactNode
}

/** Tabs. The open tab is in the URL; arrow keys move between tabs, as in the ARIA pattern. */
export function Tabs({ tabs, label }: { tabs: readonly Tab[]; label: string }) {
  const { param, set } = useUrl()
  const id = useId()
  const [first] = tabs
  const current = tabs.find((tab) => tab.name === param('tab')) ?? first
  if (current === undefined) return null
  const choose = (index: number): void => {
    const tab = tabs[(index + tabs.length) % tabs.length]
    if (tab === undefined) return
    set({ tab: tab === first ? undefined : tab.name }, { replace: true })
    document.getElementById(`${id}-${tab.name}`)?.focus()
  }
  return (
    <section className="card tabs">
      <div role="tablist" aria-label={label}>
        {tabs.map((tab, index) => (
          <button
            key={tab.name}
            type="button"
            role="tab"
            id={`${id}-${tab.name}`}
            aria-selected={tab === current}
            aria-controls={`${id}-panel`}
            tabIndex={tab === current ? 0 : -1}
            onClick={() => {
              choose(index)
            }}
            onKeyDown={(event) => {
              if (event.key === 'ArrowRight') choose(index + 1)
              if (event.key === 'ArrowLeft') choose(index - 1)
            }}
          >
            {tab.title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${current.name}`} className="tab-panel">
        {current.content()}
      </div>
    </section>
  )
}
