import { useRef, useState } from 'react'
import { Icon } from './Icon.tsx'

/** The same act on the command line, to copy. */
export function CliLine({ command, label = 'Command line' }: { command: string; label?: string }) {
  const line = useRef<HTMLElement>(null)
  // A thousand ids would push all else off the screen; what scrolls has to be in reach of a keyboard.
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

/** The clipboard is there on https and localhost only; elsewhere the text is selected, to be copied by hand. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}
