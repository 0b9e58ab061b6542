import { ranges, useRange } from '../url/use-range.ts'
import type { Range } from '../url/use-range.ts'

export function RangePicker() {
  const [range, setRange] = useRange()
  return (
    <fieldset className="choice">
      <legend className="visually-hidden">Range of the charts</legend>
      {(Object.keys(ranges) as Range[]).map((each) => (
        <label key={each}>
          <input
            type="radio"
            name="range"
            checked={each === range}
            onChange={() => {
              setRange(each)
            }}
          />
          <span>{each}</span>
        </label>
      ))}
    </fieldset>
  )
}
