/** A choice of one value, as a row of buttons. */
export function Choice<Value extends string>({
  legend,
  name,
  choices,
  chosen,
  choose,
}: {
  legend: string
  name: string
  choices: readonly Value[]
  chosen: string
  choose: (value: Value) => void
}) {
  return (
    <fieldset className="choice">
      <legend className="visually-hidden">{legend}</legend>
      {choices.map((each) => (
        <label key={each}>
          <input
            type="radio"
            name={name}
            checked={each === chosen}
            onChange={() => {
              choose(each)
            }}
          />
          <span>{each}</span>
        </label>
      ))}
    </fieldset>
  )
}
