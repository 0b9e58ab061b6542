/** The type of a value after JSON: dates become strings. */
export type Wire<Value> = Value extends Date
  ? string
  : Value extends readonly (infer Item)[]
    ? Wire<Item>[]
    : Value extends object
      ? { [Name in keyof Value]: Wire<Value[Name]> }
      : Value

export function wire<Value>(value: Value): Wire<Value> {
  return JSON.parse(JSON.stringify(value)) as Wire<Value>
}
