// A process that uses the embedded server: prints the server that it got, then releases it when told to, or waits to be killed.
import { startEmbedded } from 'stint/embedded'

const server = await startEmbedded(JSON.parse(process.argv[2] ?? '{}'))
process.stdout.write(`${JSON.stringify(server)}\n`)
process.stdin.once('data', async () => {
  await server.release()
  process.exit()
})
