// A thread beside the handlers of a child process. It tells the worker how much memory the process has, and ends it
// when the worker is gone: also while a handler keeps the event loop busy, which then hears of nothing.
import { writeSync } from 'node:fs'
import { peek } from '../../core/failures/thrown.ts'
import { guardEveryMs, guardFd, killGroup } from './guard.ts'

function tell(): void {
  try {
    writeSync(guardFd, `${process.memoryUsage.rss()}\n`)
  } catch (error) {
    // A worker that is slow to read is no worker that is gone.
    if (peek(error, 'code') !== 'EAGAIN') killGroup(process.pid)
  }
}

tell()
setInterval(tell, guardEveryMs)
