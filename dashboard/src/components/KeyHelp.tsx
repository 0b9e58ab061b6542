import { useState } from 'react'
import { activeKeys } from '../keys.ts'
import { prefer, usePreferences } from '../text/preferences.ts'
import { Dialog } from './Dialog.tsx'

export function KeyHelp({ close }: { close: () => void }) {
  const { singleKeys } = usePreferences()
  const [keys] = useState(activeKeys)
  return (
    <Dialog title="Keyboard shortcuts" close={close}>
      <dl className="keys">
        {keys.map((each) => (
          <div key={each.key}>
            <dt>
              {each.key.split(' ').map((part) => (
                <kbd key={part}>{part.replace('mod+', 'Ctrl ').replace('Escape', 'Esc')}</kbd>
              ))}
            </dt>
            <dd>{each.label}</dd>
          </div>
        ))}
      </dl>
      <label className="check">
        <input
          type="checkbox"
          checked={singleKeys}
          onChange={(event) => {
            prefer({ singleKeys: event.currentTarget.checked })
          }}
        />
        Enable shortcuts of a single letter
      </label>
    </Dialog>
  )
}
