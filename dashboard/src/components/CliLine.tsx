import { useRef, useState } from 'react'
import { Icon } from './Icon.tsx'

/** The CLI command for the same action, to copy. */
export function CliLine({ command, label = 'Command line' }: { command: string; label?: string }) {
  const line = useRef<HTMLElement>(null)
  // A command with a thousand ids must scroll, not fill the screen; a scrolling element must be reachable by keyboard.
  const isLong = command.length > 1_000
  return (
    <div className={/^(npx )?stint /.test(command) ? 'cli' : 'cli no-prompt'}>
      <code aria-label={label} ref={line} {...(isLong && { className: 'long', tabIndex: 0, role: 'region' })}>
        {command}
      </code>
      <CopyButton
        text={command}
        instead={() => {
          if (line.current !== null) getSelection()?.selectAllChildren(line.current)
        }}
      />
    </div>
  )
}

export function CopyButton({
  text,
  label = 'Copy',
  instead,
}: {
  text: string
  label?: string
  instead?: () => void
}) {
  const [isCopied, setCopied] = useState(false)
  const copy = (): void => {
    void copyText(text).then((done) => {
      setCopied(done)
      if (!done) instead?.()
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

/** The clipboard works only on https and localhost; elsewhere the text is selected, for copying by hand. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}
