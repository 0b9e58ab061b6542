/** A value as JSON gives it back: a Date is text, what JSON leaves out is missing. A value of no known type stays so. */
export type Stored<Value> = unknown extends Value
  ? Value
  : Value extends { toJSON(): infer Given }
    ? Stored<Given>
    : Value extends string | number | boolean | null | undefined
      ? Value
      : Value extends (...args: never) => unknown
        ? never
        : Value extends readonly unknown[]
          ? { -readonly [Index in keyof Value]: Stored<Value[Index]> }
          : Value extends object
            ? { [Name in keyof Value]: Stored<Value[Name]> }
            : undefined
