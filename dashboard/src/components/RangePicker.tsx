import { ranges, useRange } from '../url/use-range.ts'
import type { Range } from '../url/use-range.ts'
import { Choice } from './Choice.tsx'

export function RangePicker() {
  const [range, setRange] = useRange()
  return (
    <Choice
      legend="Range of the charts"
      name="range"
      choices={Object.keys(ranges) as Range[]}
      chosen={range}
      choose={setRange}
    />
  )
}
