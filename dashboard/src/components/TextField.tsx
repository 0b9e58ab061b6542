import { Field } from './Field.tsx'

/** The properties of an input besides its value. */
interface Input {
  type?: 'number'
  required?: boolean
  min?: number
  max?: number
  maxLength?: number
  placeholder?: string
  autoComplete?: 'off'
  /** The field gets the focus when its dialog opens. */
  'data-first'?: boolean
}

/** A field of one line. */
export function TextField({
  label,
  hint,
  value,
  set,
  ...input
}: {
  label: string
  hint?: string | undefined
  value: string
  set: (value: string) => void
} & Input) {
  return (
    <Field label={label} hint={hint}>
      {({ id, describedBy }) => (
        <input
          {...input}
          id={id}
          aria-describedby={describedBy}
          value={value}
          onInput={(event) => {
            set(event.currentTarget.value)
          }}
        />
      )}
    </Field>
  )
}

/** The reason of an action, limited to the length that the API accepts. */
export function ReasonField({
  value,
  set,
  ...more
}: { hint?: string | undefined; value: string; set: (value: string) => void } & Input) {
  return <TextField label="Reason, for the audit" maxLength={1_000} value={value} set={set} {...more} />
}
