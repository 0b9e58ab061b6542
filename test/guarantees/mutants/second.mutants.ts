import { board } from './board.ts'
import { mutants } from './mutants.ts'

board(mutants.filter(({ caughtBy }) => !/^(?:zombie|batch|sweep|crash|abort)/.test(caughtBy)))
