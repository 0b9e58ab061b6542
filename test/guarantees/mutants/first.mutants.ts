import { board } from './board.ts'
import { mutants } from './mutants.ts'

// Two files, which run at the same time: fences, sweeps, crashes and aborts here, the rest in second.mutants.ts.
board(mutants.filter(({ caughtBy }) => /^(?:zombie|batch|sweep|crash|abort)/.test(caughtBy)))
