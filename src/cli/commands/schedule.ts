import { nounOf } from '../verbs.ts'
import { backfill } from './schedule/backfill.ts'
import { get, list, next } from './schedule/read.ts'
import { set } from './schedule/set.ts'
import { pause, remove, resume, runNow } from './schedule/steer.ts'

const help = `stint schedule list        schedules that enqueue jobs, and when each fires next
stint schedule get         details of one schedule, with its last fires and why some did not fire
stint schedule next        its next fire times; marks those that a clock change moves
stint schedule set         create or change a schedule
stint schedule run         enqueue a job of it now
stint schedule pause       stop its fires until a time, or until it is resumed
stint schedule resume      end a pause
stint schedule backfill    fire the missed and skipped times of a range
stint schedule delete      delete it with its fires; its jobs stay

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
