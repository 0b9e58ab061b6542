import type { StandardSchemaV1 } from '@standard-schema/spec'
import { StintError } from '../core/errors.ts'
import type { Issue } from '../core/errors.ts'
import { copyJson } from '../core/json/json.ts'
import { byteLength } from '../core/json/utf8.ts'
import { nameOption } from '../core/names.ts'
import { rejectUnknown } from '../core/options.ts'

export interface SignalDefinition<Schema extends StandardSchemaV1> {
  /** 1 to 128 letters, digits and `_ . : / % -`, such as `order.approved`. */
  name: string
  /** The schema of its payload: any Standard Schema. Without one, any JSON. */
  payload?: Schema | undefined
}

/** A message from outside that a job can wait for. */
export interface SignalContract<Payload = unknown, Given = Payload> {
  readonly name: string
  readonly payloadSchema: StandardSchemaV1<Given, Payload> | undefined
}

/** Defines a signal, for those who send it and for the handlers that wait for it. */
export function defineSignal<Schema extends StandardSchemaV1 = StandardSchemaV1>({
  name,
  payload,
  ...rest
}: SignalDefinition<Schema>): SignalContract<
  StandardSchemaV1.InferOutput<Schema>,
  StandardSchemaV1.InferInput<Schema>
> {
  rejectUnknown('defineSignal()', rest, ['name', 'payload'])
  return Object.freeze({
    name: nameOption('name', name),
    payloadSchema: payload,
  })
}

/** The name of a signal that a caller named or defined. */
export function signalName(signal: SignalContract | string): string {
  return nameOption(
    'signal',
    typeof signal === 'string' ? signal : (signal as Partial<SignalContract> | undefined)?.name,
  )
}

export const maxPayloadBytes = 64 * 1024

/** The JSON text of a payload, once it has passed the schema; throws `invalid-input` before anything is sent. */
export async function checkPayload(signal: SignalContract | string, payload: unknown): Promise<string> {
  const name = signalName(signal)
  const limits = { maxDepth: 100, maxCharacters: maxPayloadBytes * 2, maxIssues: 20 }
  const copy = copyJson(payload === undefined ? {} : payload, 'payload', limits)
  if (!copy.ok) throw invalid(name, copy.characters === undefined ? copy.issues : [tooLarge])
  const text = JSON.stringify(copy.value)
  if (byteLength(text) > maxPayloadBytes) throw invalid(name, [tooLarge])
  await readPayload(signal, copy.value)
  return text
}

/** A stored payload as the schema gives it: what a handler gets. */
export async function readPayload<Payload>(
  signal: SignalContract<Payload> | string,
  payload: unknown,
): Promise<Payload> {
  const schema = typeof signal === 'string' ? undefined : signal.payloadSchema
  if (schema === undefined) return payload as Payload
  const result = await schema['~standard'].validate(payload)
  if (result.issues === undefined) return result.value
  const issues = result.issues.slice(0, 20).map(({ path = [], message }) => ({
    path: ['payload', ...path.map((step) => String(typeof step === 'object' ? step.key : step))].join('.'),
    message,
  }))
  throw invalid(signalName(signal), issues)
}

const tooLarge: Issue = { path: 'payload', message: 'is larger than 64 KiB: send a reference to it' }

function invalid(name: string, issues: readonly Issue[]): StintError {
  const [first] = issues
  const what = first === undefined ? 'it cannot be read' : `${first.path} ${first.message}`
  return new StintError('invalid-input', `Invalid payload of the signal '${name}': ${what}.`, { issues })
}
