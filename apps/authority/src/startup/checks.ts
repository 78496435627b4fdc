import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import {
  FormError,
  JsonError,
  readCheckpointText,
  readGenesisBlock,
  readJsonBytes,
  readNote,
  verifyGenesisBlock,
} from '@chancery/protocol'
import type { GenesisBlock, Signer } from '@chancery/protocol'
import { type Log, StartError } from '@chancery/service-kit'
import inspector from 'node:inspector'
import type { Database } from '../database/database.ts'
import { countSyncStandbys, readServerSettings } from '../database/postgres/server-settings.ts'
import type { AuthoritySettings } from '../settings/authority-settings.ts'
import { openSigner } from '../signing/key-providers.ts'

/** In a container the limits of core dumps are those of its machine. */
export function isInContainer(): boolean {
  const { KUBERNETES_SERVICE_HOST } = process.env
  return KUBERNETES_SERVICE_HOST !== undefined || ['/.dockerenv', '/run/.containerenv'].some((file) => existsSync(file))
}

/** True when a crash may write the memory of this process to a disk. */
export async function hasCoreDumps(limitsFile = '/proc/self/limits'): Promise<boolean> {
  // The file exists on Linux only. On other systems the rules of the platform apply.
  const limits = await readFile(limitsFile, 'utf8').catch(() => '')
  return (/^Max core file size +(\S+)/m.exec(limits)?.[1] ?? '0') !== '0'
}

/** The signing key is in memory: no debugger may read it, no crash may write it to a disk (reliability 9). */
export async function checkProcess(
  { log, inContainer = isInContainer() }: { readonly log: Log; readonly inContainer?: boolean },
  limitsFile?: string,
): Promise<void> {
  if (inspector.url() !== undefined)
    throw new StartError('NODE_OPTIONS: the inspector is on, NA_HA_MODE=on needs it off')
  if (!(await hasCoreDumps(limitsFile))) return
  if (!inContainer)
    throw new StartError('NA_HA_MODE: on needs core dumps off (ulimit -c 0, LimitCORE=0 in the service file)')
  log.warn(
    'core dumps are on: a crash may write the signing key to a disk; let the machine drop them (kernel.core_pattern)',
  )
}

/** Each makes an acknowledged write survive a crash of the server; `remote_apply` waits for even more than `on`. */
export const DURABILITY: readonly (readonly [name: string, accepted: readonly string[]])[] = [
  ['fsync', ['on']],
  ['full_page_writes', ['on']],
  ['synchronous_commit', ['on', 'remote_apply']],
]

/**
 * Checks what a PostgreSQL database for several instances must guarantee (reliability 12). Refuses otherwise, with one
 * line each.
 */
export async function checkDurability(database: Database, requireSyncStandby: boolean, log: Log): Promise<void> {
  const found = await readServerSettings(database, [...DURABILITY.map(([name]) => name), 'data_checksums'])
  for (const [name, accepted] of DURABILITY) {
    const value = found.get(name) ?? 'unknown'
    if (!accepted.some((one) => one === value))
      throw new StartError(`DATABASE_URL: ${name} is ${value} on the server, NA_HA_MODE=on needs ${accepted[0] ?? ''}`)
  }
  if (found.get('data_checksums') !== 'on')
    log.warn('the database has no data checksums: silent corruption of its disk would not be detected')
  if ((await countSyncStandbys(database)) > 0) return
  if (requireSyncStandby)
    throw new StartError('NA_REQUIRE_SYNC_STANDBY: the database has no synchronous standby', { isTemporary: true })
  log.warn('the database has no synchronous standby: a failover may lose acknowledged writes')
}

/** The keys of the log, the current one first. None of them may have another role: losing it would compromise both. */
export async function openLogSigners(
  { logKeyFiles, operators }: Pick<AuthoritySettings, 'logKeyFiles' | 'operators'>,
  reserved: readonly string[],
  log: Log,
): Promise<readonly Signer[]> {
  const setting = 'NA_LOG_PRIVATE_KEY_FILES'
  const used = new Set([...reserved, ...[...operators.values()].map(({ publicKey }) => publicKey)])
  const signers: Signer[] = []
  for (const path of logKeyFiles) {
    const signer = await openSigner({ provider: 'file', setting, path }, 'log', log)
    if (used.has(signer.publicKey))
      throw new StartError(
        `${setting}: the key of ${path} has another role already; make one with chancery keygen operator`,
      )
    used.add(signer.publicKey)
    signers.push(signer)
  }
  return signers
}

/** A log that has entries keeps its name: witnesses know it by that name, and another one would be another log. */
export async function checkLogOrigin(
  database: Database,
  { logOrigin }: Pick<AuthoritySettings, 'logOrigin'>,
): Promise<void> {
  const row = await database.read
    .selectFrom('evidence_log_checkpoints')
    .select('note')
    .where('tree_size', '>', 0)
    .orderBy('tree_size', 'desc')
    .limit(1)
    .executeTakeFirst()
  const begun = readCheckpointText(readNote(row?.note ?? '')?.text ?? '')?.origin
  if (logOrigin === undefined || begun === undefined || begun === logOrigin) return
  await database.close()
  throw new StartError(
    `NA_LOG_ORIGIN: the log has entries under the name ${begun}, which cannot change; set it to this name, or remove the setting`,
  )
}

/** The block that this authority serves, verified with its own root key. The text is stored as it was signed. */
export async function loadGenesis(path: string): Promise<{ readonly block: GenesisBlock; readonly text: string }> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    throw new StartError(`GENESIS_FILE: ${path} cannot be read`, { cause: error })
  }
  const block = parse(bytes, path)
  const verdict = await verifyGenesisBlock(block)
  if (!verdict.ok) throw new StartError(`GENESIS_FILE: ${path} is refused: ${verdict.reason}`)
  return { block, text: bytes.toString('utf8').trim() }
}

function parse(bytes: Uint8Array, path: string): GenesisBlock {
  try {
    return readGenesisBlock(readJsonBytes(bytes))
  } catch (error) {
    if (error instanceof FormError || error instanceof JsonError) {
      throw new StartError(`GENESIS_FILE: ${path} is not a genesis block: ${error.message}`, { cause: error })
    }
    throw error
  }
}
