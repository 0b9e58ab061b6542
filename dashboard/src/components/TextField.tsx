import { Field } from './Field.tsx'

/** What an input takes beside its value. */
interface Input {
  type?: 'number'
  required?: boolean
  min?: number
  max?: number
  maxLength?: number
  placeholder?: string
  autoComplete?: 'off'
  /** The dialog it is in begins with it. */
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

/** Why an act is done. As long as the API takes it. */
export function ReasonField({
  value,
  set,
  ...more
}: { hint?: string | undefined; value: string; set: (value: string) => void } & Input) {
  return <TextField label="Reason, for the audit" maxLength={1_000} value={value} set={set} {...more} />
}
