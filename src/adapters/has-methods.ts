/** Whether a value really has these methods: its type says so, but a caller may have come by it through `any`. */
export function hasMethods(value: unknown, ...names: readonly string[]): boolean {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false
  return names.every((name) => typeof Reflect.get(value, name) === 'function')
}
