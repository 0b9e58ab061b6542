import { spawn } from 'node:child_process'

/**
 * Runs a command and prints its output; with `isQuiet` only if it fails. Resolves to its exit code, its seconds and its
 * output.
 */
export function run([command, ...args], { isQuiet = false, env = {}, cwd } = {}) {
  const startedAt = performance.now()
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
      if (!isQuiet) process.stdout.write(chunk)
    })
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      if (isQuiet && code !== 0) process.stdout.write(output)
      resolve({ code, seconds: (performance.now() - startedAt) / 1_000, output })
    })
  })
}

/** Prints a line for each step: whether it passed, its seconds, and the counts of its test runner. */
export function summarise(steps) {
  const width = Math.max(...steps.map(({ name }) => name.length))
  console.log()
  for (const { name, code, seconds, output } of steps) {
    const verdict = code === 0 ? 'passed' : 'FAILED'
    console.log(
      `${verdict}  ${String(Math.round(seconds)).padStart(5)} s  ${name.padEnd(width)}  ${countOf(output)}`.trimEnd(),
    )
  }
}

/** The closing line of each vitest run in the output: `46 passed (46)`. */
function countOf(output) {
  const plain = output.replaceAll(/\u001b\[\d+m/g, '')
  return [...plain.matchAll(/^ +Tests +(.+)$/gm)].map(([, count]) => count).join(', ')
}
