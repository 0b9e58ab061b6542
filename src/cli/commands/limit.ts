import { nounOf } from '../verbs.ts'
import { clear, key, penalise, remove, set } from './limit/change.ts'
import { get, keys, list } from './limit/read.ts'

const help = `stint limit list        concurrency limits and rates, and how full they are
stint limit get         details of one, with the jobs that hold it
stint limit set         override it until a time
stint limit clear       end an override
stint limit keys        rules of single keys
stint limit key         give one key a maximum, a weight or a tier of its own
stint limit penalise    give no token of a rate until a time
stint limit delete      delete one that no live worker has in its code

stint limit <command> --help has options and examples.`

export const limit = nounOf(help, { list, get, set, clear, keys, key, penalise, delete: remove })
