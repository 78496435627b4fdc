import { resolve } from 'node:path'
import { FormError, readReceived, readTrustedPublicKey, retentionCheckpointForm, shape } from '@chancery/protocol'
import type { JsonValue, RetentionCheckpoint, SignerKeys } from '@chancery/protocol'
import { findConfig } from '../../connection/target.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { keysFileOf, openFollowedKeys } from '../../connection/followed-keys.ts'
import { loadKeyHistory, loadVerifiedGenesis } from '../../files/genesis-file.ts'
import { loadJsonObject, loadRecord } from '../../files/json-file.ts'
import { loadPlainKeys } from '../../files/named-keys.ts'
import type { Options } from '../../arguments/options.ts'
import type { ExecutorKey } from './audit-keys.ts'

/** Id of the store. All other checks depend on it. */
export interface Trust {
  /** A given key, or those of the genesis block and its key history, each for records of its time. */
  readonly keys: SignerKeys
  readonly network: string
}

/** Given as options, or from the pinned genesis block. Never read from the audited authority. */
export async function loadTrust(context: CommandContext, options: Options): Promise<Trust> {
  const [key] = await loadPlainKeys(context.cwd, options.has('key') ? options : options.with({ key: [] }))
  const pin = options.text('genesis')
  const config = await findConfig(context, options)
  const path = pin === undefined ? config.paths.genesis : resolve(context.cwd, pin)
  if (path === undefined) {
    if (key === undefined)
      throw new CommandError({
        code: 'keys_needed',
        message: 'The authority of this store is unknown: no key was given.',
        hint: 'Give --genesis <file>.',
        exitCode: 3,
      })
    throw usageError('The network of this store is unknown.', 'Give --genesis <file>.')
  }
  const genesis = await loadVerifiedGenesis(path)
  const historyFile = options.has('key-history') ? options.text('key-history') : undefined
  const known =
    historyFile === undefined
      ? (await openFollowedKeys(genesis, keysFileOf(path))).keys
      : { genesis, history: await loadKeyHistory(context.cwd, historyFile, genesis) }
  return { keys: key === undefined ? known : [key], network: genesis.network_name }
}

/** A checkpoint names every resource that was ever removed. */
const CHECKPOINT_LIMITS = { maxDepth: 8, maxValues: Number.MAX_SAFE_INTEGER, maxNames: Number.MAX_SAFE_INTEGER }

export async function loadBoundary(
  { cwd }: CommandContext,
  options: Options,
): Promise<RetentionCheckpoint | undefined> {
  const file = options.text('checkpoint')
  if (file === undefined) return undefined
  const kind = {
    name: 'a retention checkpoint',
    member: 'checkpoint',
    read: (value: JsonValue) => readReceived(retentionCheckpointForm, value).record,
  }
  return loadRecord(cwd, file, kind, CHECKPOINT_LIMITS)
}

const readKeys = shape.arrayOf(
  (value, field) => {
    const key = shape.object(value, field)
    const [key_id, public_key, executor] = ['key_id', 'public_key', 'executor_sovereign_id'].map((name) =>
      shape.string(key[name] ?? null, `${field}.${name}`),
    ) as [string, string, string]
    if (readTrustedPublicKey(public_key) === undefined) throw new FormError(`${field}.public_key`, 'is no public key')
    return { key_id, public_key, executor_sovereign_id: executor }
  },
  { max: 1_000_000 },
)

/** Returns the executor keys. Without a file there are none, so every execution fails. */
export async function loadExecutorKeys({ cwd }: CommandContext, options: Options): Promise<readonly ExecutorKey[]> {
  const file = options.text('executor-keys')
  if (file === undefined) return []
  const value = await loadJsonObject(cwd, file)
  try {
    return readKeys(value['executor_keys'] ?? null, 'executor_keys')
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    const hint = 'Make the file with: chancery evidence key list --json'
    throw new CommandError({ code: 'invalid_record', message: `${file}: ${error.message}.`, hint }, { cause: error })
  }
}
