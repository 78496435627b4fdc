import { dirname, join, resolve } from 'node:path'
import { isOperatorsFileError, readOperatorsFile, writeOperatorsFile } from '@chancery/contract'
import type { ListedOperator, OperatorsFile } from '@chancery/contract'
import { CommandError, usageError } from '../errors/failure.ts'
import { OWNER_ONLY, errorCode, readText, replaceFile } from './files.ts'

/** Its name in the home folder of an authority. */
export const OPERATORS_FILE = 'operators.json'

/** Returns the path of --file, or of the file in the home of the configured authority. */
export function operatorsPath(cwd: string, given: string | undefined, home: string | undefined): string {
  if (given !== undefined) return resolve(cwd, given)
  if (home !== undefined) return join(home, OPERATORS_FILE)
  throw usageError(
    'No operators file is named.',
    'Give --file, or choose the home folder of the authority: chancery use <dir>',
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

/** Replaces the file atomically. The authority reads it again with its next request. */
export async function saveOperators(path: string, content: OperatorsFile): Promise<void> {
  await replaceFile(path, writeOperatorsFile(content), OWNER_ONLY)
}

const KEYS = 'OPERATOR_PUBLIC_KEYS_JSON='
const TIERS = 'OPERATOR_KEY_TIERS_JSON='

export interface MovedSettings {
  readonly operators: readonly ListedOperator[]
  /** The settings with the file in place of the keys. */
  readonly text: string
}

/** Returns the operators that a settings file lists, and the settings that name the operators file instead. */
export function moveFromSettings(settings: string, path: string): MovedSettings | undefined {
  const lines = settings.split('\n')
  const value = (name: string): string | undefined => lines.find((line) => line.startsWith(name))?.slice(name.length)
  const keys = value(KEYS)
  if (keys === undefined || !keys.trimStart().startsWith('{')) return undefined
  const parsed: unknown = JSON.parse(keys)
  const tiers = JSON.parse(value(TIERS) ?? '{}') as Readonly<Record<string, unknown>>
  const listed = Object.entries(parsed as Readonly<Record<string, unknown>>).map(([key_id, public_key]) => {
    return { key_id, public_key, tier: tiers[key_id], added_at: null }
  })
  const { operators } = parseOperators('authority.env', JSON.stringify({ operators: listed }))
  const text = lines
    .filter((line) => !line.startsWith(TIERS))
    .map((line) => (line.startsWith(KEYS) ? `${KEYS}${path}` : line))
    .join('\n')
  return { operators, text }
}
