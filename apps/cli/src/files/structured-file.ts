import { resolve } from 'node:path'
import { JsonFloat, type JsonObject, type JsonValue, isJsonObject } from '@chancery/protocol'
import { CommandError } from '../errors/failure.ts'
import { readText } from './files.ts'
import { loadJsonObject } from './json-file.ts'

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
