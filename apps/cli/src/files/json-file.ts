import { resolve } from 'node:path'
import { FormError, JsonError, isJsonObject, readJson } from '@chancery/protocol'
import type { JsonObject, JsonValue, ReadLimits } from '@chancery/protocol'
import { CommandError } from '../errors/failure.ts'
import { readText } from './files.ts'

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
