// The door to the benchmarks: `npm run bench -- enqueue`. It needs nothing but Node 20 and npm.
//
// The peers ask for newer Nodes than Stint does, and every system must run on the same one. So this file
// installs bench/ (its own lockfile, so that peers never enter the root install), finds the Node that came
// with it and hands over to src/main.ts, which that Node reads as it is.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, lstatSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))

if (isStale()) install()
handOver(findNode())

function isStale() {
  // Another checkout's install, lent by a link: npm ci would empty the folder behind it.
  if (lstatSync(join(here, 'node_modules'), { throwIfNoEntry: false })?.isSymbolicLink()) return false
  // npm writes this file last, so a half-finished install counts as none.
  const installed = join(here, 'node_modules', '.package-lock.json')
  return (
    !existsSync(installed) || statSync(installed).mtimeMs < statSync(join(here, 'package-lock.json')).mtimeMs
  )
}

function install() {
  console.error('bench: installing its own packages (npm ci)')
  const npm = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ['npm']
  const [command, ...args] = [...npm, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  // What `npm run` tells its scripts about the root package must not reach an npm that works in bench/.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)))
  // npm's chatter goes to stderr: with --json, stdout is for the results alone.
  const { status, error } = spawnSync(command, args, { cwd: here, env, stdio: ['ignore', 2, 2] })
  if (status !== 0) fail(`npm ci in ${here} failed${error ? `: ${error.message}` : ''}`)
}

/** The `node` package fetches its binary in an install script, which we do not run; the platform package is the binary. */
function findNode() {
  const pinned = join(here, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node')
  if (existsSync(pinned)) return pinned
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 18)) return process.execPath
  return fail(
    `no Node for ${process.platform}-${process.arch} in bench/package.json, and ${process.version} is older than 22.18`,
  )
}

function handOver(node) {
  // What has no peers to be compared with is measured by a program of its own.
  const [suite = ''] = process.argv.slice(2)
  const main = ['console', 'gauges'].includes(suite) ? join(suite, 'main.ts') : 'main.ts'
  // The IPC channel closes with this process, however it ends: main.ts sees that and takes its servers down.
  const child = spawn(node, [join(here, 'src', main), ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  })
  // Ctrl-C reaches both processes at once; `kill` reaches only this one. main.ts takes either once.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => fail(error.message))
  child.on('exit', (code) => {
    process.exitCode = code ?? 1
  })
}

function fail(message) {
  console.error(`bench: ${message}`)
  process.exit(1)
}
