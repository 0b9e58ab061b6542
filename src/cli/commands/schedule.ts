import { nounOf } from '../verbs.ts'
import { backfill } from './schedule/backfill.ts'
import { get, list, next } from './schedule/read.ts'
import { set } from './schedule/set.ts'
import { pause, remove, resume, runNow } from './schedule/steer.ts'

const help = `stint schedule list        rules by which jobs come into being, and when each fires next
stint schedule get         all that is known of one, with its last fires and why some did not fire
stint schedule next        its next times, clock changes marked
stint schedule set         store one, new or changed
stint schedule run         make a job of it now
stint schedule pause       no fires until a time, or until it is resumed
stint schedule resume      and on
stint schedule backfill    make up for the times of a range
stint schedule delete      forget it

stint schedule <command> --help has options and examples.`

export const schedule = nounOf(help, {
  list,
  get,
  next,
  set,
  run: runNow,
  pause,
  resume,
  backfill,
  delete: remove,
})
