import { dirname, join } from 'node:path'
import { isOperatorsFileError, readOperatorsFile, writeOperatorsFile } from '@chancery/contract'
import type { ListedOperator, OperatorsFile } from '@chancery/contract'
import { CommandError, usageError } from '../errors/failure.ts'
import { JsonError, type JsonObject, isJsonObject, readJson } from '@chancery/protocol'
import { errorCode, readText, replaceServiceFile } from './files.ts'

/** Its name in the home folder of an authority. */
export const OPERATORS_FILE = 'operators.json'

const KEYS = 'OPERATOR_PUBLIC_KEYS_JSON='
const TIERS = 'OPERATOR_KEY_TIERS_JSON='

/** Returns the path of the file in the folder of the authority. */
export function operatorsPath(home: string | undefined): string {
  if (home !== undefined) return join(home, OPERATORS_FILE)
  throw usageError(
    'No folder of an authority is selected.',
    'Operators are in a file on its host: give its folder with --home.',
  )
}

/** Reads the operators. If the home of the authority has them in its settings instead, the error names the next step. */
export async function loadOperators(path: string): Promise<OperatorsFile> {
  const text = await readText(path).catch((error: unknown) => {
    if (!(error instanceof CommandError) || errorCode(error.cause) !== 'ENOENT') throw error
    const hint = `Create it with: chancery operator add. If ${join(dirname(path), 'authority.env')} lists operators, that command moves them to the file.`
    throw new CommandError({ code: 'no_operators_file', message: `${path} does not exist.`, hint }, { cause: error })
  })
  return parseOperators(path, text)
}

function parseOperators(path: string, text: string): OperatorsFile {
  try {
    return readOperatorsFile(text)
  } catch (error) {
    if (!isOperatorsFileError(error)) throw error
    const message = `${path} is no operators file: ${error.message}.`
    const hint = 'Fix the file, or restore it from a backup. A running authority uses the operators from before.'
    throw new CommandError({ code: 'invalid_operators_file', message, hint }, { cause: error })
  }
}

/**
 * Replaces the file atomically. The authority reads it again with its next request. A file that has changed since it was
 * loaded is not replaced: a person may answer a question late, and a key that was removed meanwhile would return.
 */
export async function saveOperators(path: string, before: OperatorsFile, content: OperatorsFile): Promise<void> {
  const text = await readIfExists(path)
  const current = text === undefined ? NO_OPERATORS : parseOperators(path, text)
  if (writeOperatorsFile(current) !== writeOperatorsFile(before))
    throw new CommandError({
      code: 'file_changed',
      message: `${path} was changed by another process. Nothing was written.`,
      hint: 'Check it with: chancery operator list. Then run the same command again.',
    })
  await replaceServiceFile(path, writeOperatorsFile(content))
}

export const NO_OPERATORS: OperatorsFile = { operators: [], removed: [] }

/** Returns the text of a file, or undefined when there is none. */
export async function readIfExists(path: string): Promise<string | undefined> {
  return readText(path).catch((error: unknown) => {
    if (error instanceof CommandError && errorCode(error.cause) === 'ENOENT') return undefined
    throw error
  })
}

/** The settings of the authority in the folder of an operators file. */
export function settingsPath(path: string): string {
  return join(dirname(path), 'authority.env')
}

/** Throws when the settings next to the file list operators themselves: the authority then ignores the file. */
export async function refuseUnusedFile(path: string): Promise<void> {
  const settings = settingsPath(path)
  const text = await readIfExists(settings)
  if (text === undefined || inlineKeys(text) === undefined) return
  throw new CommandError({
    code: 'operators_in_settings',
    message: `${settings} lists operators itself, so the authority does not read ${path}. Nothing was changed.`,
    hint: `Set ${KEYS}${path} there, delete the line ${TIERS}…, and restart the authority. Then run the same command again.`,
  })
}

function inlineKeys(settings: string): string | undefined {
  const keys = settings.split('\n').find((line) => line.startsWith(KEYS))
  const value = keys?.slice(KEYS.length)
  return value?.trimStart().startsWith('{') === true ? value : undefined
}

export interface MovedSettings {
  readonly operators: readonly ListedOperator[]
  /** The settings with the file in place of the keys. */
  readonly text: string
}

/** Returns the operators that a settings file lists, and the settings that name the operators file instead. */
export function moveFromSettings(settings: string, path: string): MovedSettings | undefined {
  const lines = settings.split('\n')
  const keys = inlineKeys(settings)
  if (keys === undefined) return undefined
  const tiers = readSetting(TIERS, lines.find((line) => line.startsWith(TIERS))?.slice(TIERS.length) ?? '{}')
  const listed = Object.entries(readSetting(KEYS, keys)).map(([key_id, public_key]) => {
    return { key_id, public_key, tier: tiers[key_id], added_at: null }
  })
  const { operators } = parseOperators('authority.env', JSON.stringify({ operators: listed }))
  const text = lines
    .filter((line) => !line.startsWith(TIERS))
    .map((line) => (line.startsWith(KEYS) ? `${KEYS}${path}` : line))
    .join('\n')
  return { operators, text }
}

function readSetting(name: string, text: string): JsonObject {
  try {
    const value = readJson(text)
    if (isJsonObject(value)) return value
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
  }
  throw new CommandError({
    code: 'invalid_settings',
    message: `${name.slice(0, -1)} in authority.env is not a JSON object. Nothing was changed.`,
    hint: 'Fix the line, and check it with: chancery doctor --home <file>',
  })
}
