/**
 * How much a costly test does. Chosen by STINT_TEST_FORM, which is read here and nowhere else.
 *
 * short   each promise once, in seconds: `npm test`
 * medium  often enough to meet a rare race, in minutes: `npm run deep`, `npm run guarantees`
 * long    ten times medium: `npm run guarantees -- --long`
 */
export type Form = 'short' | 'medium' | 'long'

export const form: Form = formOf(process.env['STINT_TEST_FORM'])

function formOf(name: string | undefined): Form {
  if (name === undefined || name === '') return 'short'
  if (name === 'short' || name === 'medium' || name === 'long') return name
  throw new Error(`STINT_TEST_FORM is '${name}': expected 'short', 'medium' or 'long'`)
}
