import { useState } from 'react'
import { CopyButton } from './CliLine.tsx'

const longest = 32 * 1_024

/** A value as JSON text; a long text is cut until the person opens it. */
export function Json({ value, label }: { value: unknown; label: string }) {
  const [isOpen, setOpen] = useState(false)
  const text = pretty(value)
  const isLong = text.length > longest
  return (
    <div className="json">
      <pre tabIndex={0} aria-label={label}>
        {isLong && !isOpen ? `${text.slice(0, longest)}\n…` : text}
      </pre>
      <div className="json-tools">
        <CopyButton text={text} />
        {isLong ? (
          <button
            type="button"
            className="button"
            onClick={() => {
              setOpen(!isOpen)
            }}
          >
            {isOpen ? 'Show less' : `Show all ${Math.round(text.length / 1_024)} KB`}
          </button>
        ) : null}
      </div>
    </div>
  )
}

export function pretty(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value, null, 2)
}
