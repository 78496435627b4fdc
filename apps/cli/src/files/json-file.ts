import { resolve } from 'node:path'
import {
  FormError,
  JsonError,
  JsonFloat,
  asJson,
  isJsonObject,
  readJson,
  readReceived,
  writeJson,
} from '@chancery/protocol'
import type { JsonObject, JsonValue, ReadLimits, Received, RecordForm } from '@chancery/protocol'
import { CommandError } from '../errors/failure.ts'
import { FOR_ALL, readText, refuseExisting, typed, writeNewFile } from './files.ts'
import type { Options } from '../arguments/options.ts'

/** Uses the strict reader, like the authority. */
export async function loadJsonObject(cwd: string, file: string, limits?: ReadLimits): Promise<JsonObject> {
  return parseObject(await readText(resolve(cwd, file)), file, limits)
}

/** Parses the text of a file. `file` is its name in messages. */
export function parseObject(text: string, file: string, limits?: ReadLimits): JsonObject {
  try {
    const value = readJson(text, limits)
    if (isJsonObject(value)) return value
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw new CommandError(
      {
        code: 'invalid_json',
        message: `${file} is not JSON: ${error.message}.`,
        hint: 'Give a JSON file, as its issuer or a command wrote it.',
      },
      { cause: error },
    )
  }
  throw new CommandError({ code: 'invalid_json_object', message: `${file} must contain a JSON object.` })
}

/** Parses a file that a command wrote itself. Returns undefined for a text that is not a JSON object. */
export function parseJsonObject(text: string): JsonObject | undefined {
  try {
    const value = readJson(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

export interface RecordKind<Value> {
  /** With its article, for messages. */
  readonly name: string
  /** Field of an API response that contains the record; a file with the response is accepted too. */
  readonly member: string
  readonly read: (value: JsonValue) => Value
}

/** A trust record, and as it came, for sending: with a member dropped its signature would not verify. */
type LoadedRecord<Value> = Received<Value> & { readonly wire: Value }

export function recordKind<Value>(
  name: string,
  member: string,
  form: RecordForm<Value>,
): RecordKind<LoadedRecord<Value>> {
  // The reader found every member that the type has, except for those with a default.
  return { name, member, read: (value) => readReceived(form, value) as LoadedRecord<Value> }
}

/**
 * Reads a record of the protocol from a file and checks its form only. `limits` is for records longer than any request.
 */
export async function loadRecord<Value>(
  cwd: string,
  file: string,
  kind: RecordKind<Value>,
  limits?: ReadLimits,
): Promise<Value> {
  const value = await loadJsonObject(cwd, file, limits)
  const inner = Object.hasOwn(value, kind.member) ? value[kind.member] : undefined
  try {
    return kind.read(isJsonObject(inner) ? inner : value)
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    const message = `${file} is not ${kind.name}: ${error.message}.`
    throw new CommandError(
      { code: 'invalid_record', message, hint: 'Give the file as its issuer wrote it.' },
      { cause: error },
    )
  }
}

/** Reads a file that a person writes: YAML by its name, else JSON. Both give the same values. */
export async function loadStructured(cwd: string, file: string): Promise<JsonObject> {
  if (!/\.ya?ml$/i.test(file)) return loadJsonObject(cwd, file)
  const text = await readText(resolve(cwd, file))
  const value = await readYaml(text, file)
  if (isJsonObject(value)) return value
  throw new CommandError({ code: 'invalid_yaml', message: `${file} must contain names and values.` })
}

/** Limits aliases, because a few lines of them can expand to more values than fit in memory. */
const OPTIONS = { version: '1.2', schema: 'core', intAsBigInt: true, maxAliasCount: 50, uniqueKeys: true } as const

async function readYaml(text: string, file: string): Promise<JsonValue> {
  // Loaded here: it has 72 modules, and most files are JSON.
  const { YAMLError, parse } = await import('yaml')
  try {
    return toJson(parse(text, OPTIONS))
  } catch (error) {
    if (!(error instanceof YAMLError) && !(error instanceof TypeError) && !(error instanceof ReferenceError))
      throw error
    const message = `${file} is not YAML: ${error.message.split('\n')[0] ?? ''}`
    throw new CommandError({ code: 'invalid_yaml', message }, { cause: error })
  }
}

/** Whole numbers are bigint, so that `1` and `1.0` stay different, as in the signed bytes. */
function toJson(value: unknown): JsonValue {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value
  if (typeof value === 'number') return new JsonFloat(value)
  if (Array.isArray(value)) return value.map(toJson)
  if (typeof value !== 'object') throw new TypeError('a value that JSON does not have')
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, toJson(each)]))
}

/** Writes a record to the file of --out. Checks the file before signing, because an unsaved record is still valid. */
export async function saveRecord<Value extends object>(
  cwd: string,
  options: Options,
  make: () => Promise<Value>,
): Promise<{ readonly record: Value; readonly saved: string }> {
  const out = options.text('out')
  if (out === undefined) return { record: await make(), saved: '' }
  const file = resolve(cwd, out)
  await refuseExisting([file])
  const record = await make()
  await writeNewFile(file, `${writeJson(asJson(record))}\n`, FOR_ALL)
  return { record, saved: `\nWritten to ${typed(cwd, file)}.` }
}
