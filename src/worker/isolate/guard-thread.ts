// A thread beside the handlers of a child process. It reports the memory of the process to the worker, and ends the
// process when the worker is gone: also while a handler keeps the event loop busy, which then receives no events.
import { writeSync } from 'node:fs'
import { peek } from '../../core/failures/thrown.ts'
import { guardEveryMs, guardFd, killGroup } from './guard.ts'

function tell(): void {
  try {
    writeSync(guardFd, `${process.memoryUsage.rss()}\n`)
  } catch (error) {
    // A worker that is slow to read is not gone.
    if (peek(error, 'code') !== 'EAGAIN') killGroup(process.pid)
  }
}

tell()
setInterval(tell, guardEveryMs)
