import { spawn } from 'node:child_process'
import type { ChildProcess, SpawnOptions } from 'node:child_process'

export interface Finished {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export interface Started {
  child: ChildProcess
  /** Resolves once the process has written this to its standard output. */
  says(text: string): Promise<string>
  /** Its standard output so far. */
  said(): string
  finished: Promise<Finished>
}

/** Starts a process and collects its output. */
export function start(command: string, args: readonly string[], options: SpawnOptions = {}): Started {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  const waiting: { text: string; resolve: (stdout: string) => void; reject: (error: Error) => void }[] = []
  const look = (): void => {
    for (const one of waiting) if (stdout.includes(one.text)) one.resolve(stdout)
  }
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
    look()
  })
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const finished = new Promise<Finished>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      for (const one of waiting)
        one.reject(new Error(`It ended without saying '${one.text}':\n${stdout}\n${stderr}`))
      resolve({ code, signal, stdout, stderr })
    })
  })
  return {
    child,
    says: (text) =>
      new Promise((resolve, reject) => {
        waiting.push({ text, resolve, reject })
        look()
      }),
    said: () => stdout,
    finished,
  }
}

/** Runs a process to its end. */
export function finish(command: string, args: readonly string[], options?: SpawnOptions): Promise<Finished> {
  return start(command, args, options).finished
}
