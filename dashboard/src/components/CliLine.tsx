import { useState } from 'react'
import { Icon } from './Icon.tsx'

/** The same act on the command line, to copy. */
export function CliLine({ command, label = 'Command line' }: { command: string; label?: string }) {
  return (
    <div className="cli">
      <code aria-label={label}>{command}</code>
      <CopyButton text={command} />
    </div>
  )
}

export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = (): void => {
    void copyText(text).then((done) => {
      setCopied(done)
      setTimeout(() => {
        setCopied(false)
      }, 2_000)
    })
  }
  return (
    <button type="button" className="button quiet" onClick={copy}>
      <Icon name={isCopied ? 'succeeded' : 'copy'} />
      <span aria-live="polite">{isCopied ? 'Copied' : label}</span>
    </button>
  )
}

/** The clipboard is there on https and localhost only; elsewhere the old way. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    ;(document.querySelector('dialog[open]') ?? document.body).append(area)
    area.select()
    // Deprecated, and the only way on plain http.
    const isDone = document.execCommand('copy')
    area.remove()
    return isDone
  }
}
