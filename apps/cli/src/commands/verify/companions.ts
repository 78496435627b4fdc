import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { detectRecordKind, isJsonObject, readEventLine } from '@chancery/protocol'
import type { Options } from '../../arguments/options.ts'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import { readText, toFailure } from '../../files/files.ts'
import { parseJsonObject } from '../../files/json-file.ts'

/** What a file of --with is for: the name under which the check of a kind looks for it. */
type Companion =
  | 'anchors'
  | 'attestation'
  | 'checkpoint'
  | 'commitment'
  | 'context'
  | 'executor-keys'
  | 'line'
  | 'log-identity'
  | 'policy'
  | 'treaty'

const BY_KIND: Readonly<Record<string, Companion>> = {
  'membership-attestation': 'attestation',
  'recognition-treaty': 'treaty',
  'capability-commitment': 'commitment',
  'retention-checkpoint': 'checkpoint',
  'data-license-policy': 'policy',
}

/** The options with each file of --with under the name of its kind. */
export async function withCompanions({ cwd }: CommandContext, options: Options): Promise<Options> {
  const found: Partial<Record<Companion, string>> = {}
  for (const file of options.list('with')) {
    const kind = await kindOf(cwd, file)
    if (found[kind] !== undefined) throw usageError(`--with: ${found[kind]} and ${file} are both a ${kind}.`)
    found[kind] = file
  }
  const names: readonly Companion[] = [
    'anchors',
    'attestation',
    'checkpoint',
    'commitment',
    'context',
    'executor-keys',
    'line',
    'log-identity',
    'policy',
    'treaty',
  ]
  return options.with(Object.fromEntries(names.map((name) => [name, found[name]])))
}

async function kindOf(cwd: string, file: string): Promise<Companion> {
  const path = resolve(cwd, file)
  const facts = await stat(path).catch((error: unknown) => {
    throw toFailure(error, file, 'read')
  })
  if (facts.isDirectory()) return 'anchors'
  const text = await readText(path)
  if (readEventLine(text.trimEnd()) !== undefined) return 'line'
  const value = parseJsonObject(text)
  // A policy of a log is lines of text.
  if (value === undefined) return 'policy'
  const [only, ...others] = Object.values(value)
  // A response of a route holds the record in one member.
  const inner = others.length === 0 && only !== undefined && isJsonObject(only) ? only : value
  const kind = detectRecordKind(value) ?? detectRecordKind(inner)
  const known = kind === undefined ? undefined : BY_KIND[kind]
  if (known !== undefined) return known
  if (Array.isArray(value['executor_keys'])) return 'executor-keys'
  if (value['log_identity'] !== undefined || value['verifier_keys'] !== undefined || value['origin'] !== undefined)
    return 'log-identity'
  return 'context'
}
