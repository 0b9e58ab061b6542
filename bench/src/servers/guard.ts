import { spawn } from 'node:child_process'

/**
 * Ends a server and removes its folder when this process is gone, also if it was killed with -9.
 *
 * A shell in its own session holds the reading end of a pipe: a line says that there is nothing to do, the end of the
 * pipe without a line says that no process is left to stop the server. Returns the all-clear.
 */
export function guard(pid: number, folder: string, signal: 'QUIT' | 'KILL'): () => void {
  const script = 'read -r _ && exit 0; kill -s "$3" "$1" 2>/dev/null; sleep 1; rm -rf -- "$2"'
  const shell = spawn('/bin/sh', ['-c', script, 'stint-bench-guard', String(pid), folder, signal], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    cwd: '/',
  })
  shell.unref()
  shell.stdin.on('error', () => {})
  return () => {
    shell.stdin.end('done\n')
  }
}
