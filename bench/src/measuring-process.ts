import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Answer, Order, Sample } from './measures/order.ts'

const program = fileURLToPath(new URL('./measure.ts', import.meta.url))
const running = new Set<ChildProcess>()
let isOver = false

/** Runs one order in a fresh process and kills that process if it takes longer than `limitMs`. */
export function runMeasurement(order: Order, limitMs: number): Promise<Sample> {
  return new Promise((resolve, reject) => {
    if (isOver) return
    // Both of its streams go to our stderr: with --json, stdout is only for the results.
    const child = fork(program, { stdio: ['ignore', 2, 2, 'ipc'] })
    running.add(child)
    let answer: Answer | undefined
    const timer = setTimeout(() => child.kill('SIGKILL'), limitMs)
    child.once('message', (message: Answer) => {
      answer = message
    })
    child.once('error', reject)
    // Settles at its exit and not at its answer, so that no process is still closing while the next one measures.
    child.once('exit', (code, signal) => {
      clearTimeout(timer)
      running.delete(child)
      if (isOver) return
      if (answer?.type === 'sample') resolve(answer.sample)
      else if (answer) reject(new Error(answer.message))
      else
        reject(
          new Error(`the measuring process ended with ${signal ?? code} (its limit is ${limitMs / 1000} s)`),
        )
    })
    child.send(order)
  })
}

/** After this, measurements never settle, instead of failing for some system. */
export function killMeasurements(): void {
  isOver = true
  for (const child of running) child.kill('SIGKILL')
}
