/**
 * A worker file whose worker only reports its start and stop, which is all that the command line sees of a real one.
 * It is TypeScript that Node alone cannot run.
 */
export function fakeWorkerFile({ name = 'worker', says = 'one' } = {}): string {
  return `
enum Word { Up = 'up', Down = 'down' }
let end: () => void = () => undefined
export const ${name} = {
  [Symbol.for('stint.worker')]: true,
  async start(): Promise<void> {},
  async stop(): Promise<void> { end() },
  async run(): Promise<void> {
    const ended = new Promise<void>((resolve) => { end = resolve })
    const timer = setInterval(() => undefined, 60_000)
    process.once('SIGTERM', () => end())
    process.once('SIGINT', () => end())
    console.log(\`\${Word.Up} ${says} \${process.env['STINT_LOG']} \${process.env['DATABASE_URL']}\`)
    await ended
    clearInterval(timer)
    console.log(\`\${Word.Down} ${says}\`)
  },
}
`
}
