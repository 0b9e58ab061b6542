import { slotsText, whole } from '../text/format.ts'
import { Meter } from './Meter.tsx'

/** The text after a number of running jobs: how many can run at once. */
export function OfSlots({ running, slots }: { running: number; slots: number }) {
  const ahead = running - slots
  return (
    <>
      {ahead > 0 ? (
        <span className="muted" title={slotsText(running, slots)}>
          , {whole(ahead)} ahead
        </span>
      ) : (
        <span className="muted">/{whole(slots)}</span>
      )}{' '}
      <Meter value={running} of={slots} />
    </>
  )
}
