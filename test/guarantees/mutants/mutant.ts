import type { GuaranteeName } from '../named/all.ts'

/** A small defect, put into a copy of the built package, that one guarantee has to notice. */
export interface Mutant {
  id: string
  /** What the mutated package does wrong, as a sentence. */
  what: string
  /** The test that must turn red. */
  caughtBy: GuaranteeName
  /** Below dist. */
  file: string
  /** Exact texts of that file, each of which occurs once, and their replacements. */
  edits: readonly { from: string; to: string }[]
}

/** The only edit of a mutant. */
export function edit(from: string, to: string): { from: string; to: string }[] {
  return [{ from, to }]
}
