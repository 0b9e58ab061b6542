import { consoleOpenApi } from '../../server/console.ts'
import { helpOption, noMore, parse } from '../arguments.ts'
import { say, sayJson } from '../output/output.ts'

const help = `stint openapi    the HTTP API of the console as OpenAPI 3.1, for client generators

A running console has the same at /v1/openapi.json.

Examples
  stint openapi > openapi.json
  stint openapi | jq -r '.paths | keys[]'`

export function openapi(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, helpOption)
  if (values.help) return Promise.resolve(say(help))
  noMore(positionals)
  return Promise.resolve(sayJson(consoleOpenApi()))
}
