// Loaded before the program of a worker, by --import: kills the process by SIGKILL at a point of its scheduling that the
// parent names. Of all processes that get the same tick, only the first one to reach the point is killed.
import { openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'

const { name, ledger, folder } = JSON.parse(process.env.STINT_PROGRAM)
const fd = openSync(ledger, 'a')
let told
let fires = 0

process.on('message', (word) => {
  const [verb, tick, point] = String(word).split(' ')
  if (verb !== 'die') return
  told = { tick: Number(tick), point }
  fires = 0
  write('armed')
})

function write(type) {
  const at = Number(process.hrtime.bigint()) / 1e6
  writeSync(fd, `${JSON.stringify({ type, at, worker: name, ...told })}\n`)
}

function reach(point) {
  if (told?.point !== point) return
  try {
    openSync(join(folder, String(told.tick)), 'wx')
  } catch {
    // Another process reached it first.
    told = undefined
    return
  }
  write('dies')
  process.kill(process.pid, 'SIGKILL')
}

const { query } = pg.Client.prototype
pg.Client.prototype.query = function (config, ...rest) {
  const text = typeof config === 'string' ? config : String(config?.text)
  const isLook = text.startsWith('/* schedules/fires/due.sql */')
  const isFire = text.startsWith('/* schedules/fires/fire.sql */')
  if (isLook) reach('beforeLook')
  if (isFire && ++fires === 2) reach('betweenFires')
  const answering = Reflect.apply(query, this, [config, ...rest])
  if (!isLook && !isFire) return answering
  // The bytes are sent; the server may or may not execute them.
  if (isFire) reach('sent')
  return answering.then((answer) => {
    if (isLook && answer.rows[0]?.due.length > 0) reach('looked')
    if (isFire && answer.rows.length > 0) reach('stored')
    return answer
  })
}
