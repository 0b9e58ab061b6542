import { board } from './board.ts'
import { mutants } from './mutants.ts'

// In two files, which run at the same time: those about fences, sweeps, crashes and aborts here, the rest in the other.
board(mutants.filter(({ caughtBy }) => /^(?:zombie|batch|sweep|crash|abort)/.test(caughtBy)))
