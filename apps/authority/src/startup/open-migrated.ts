import { type Clock, type Log, StartError, describeChain, sleep } from '@chancery/service-kit'
import { DatabaseUnavailableError, MissingRightError } from '../database/errors.ts'
import type { Database, Reader } from '../database/database.ts'
import { migrate } from '../database/migrate.ts'
import { type DatabaseLocation, openDatabase, translateDatabaseError } from '../database/open.ts'
import { isPoolerRefusal } from '../database/postgres/pooled-client.ts'
import { isRefusedLogin } from '../database/postgres/open.ts'
import type { AuthoritySettings } from '../settings/authority-settings.ts'
import { type Identity, LiveIdentity, loadOwnKeys } from '../signing/own-keys.ts'
import { checkDurability, loadGenesis } from './checks.ts'
import { checkStartKeys, claimDatabase, requireOwnKey } from './check-keys.ts'
import type { FindKey } from '../signing/find-key.ts'
import type { KeyCheck } from '../signing/key-check.ts'
import { openSigner } from '../signing/key-providers.ts'
import { type SignedDocuments, findNextIdentity, findStoredIdentity } from '../signing/stored-identity.ts'

export interface IdentityOptions {
  /** Allows the new key on a database of the former one, for the command that transfers it. */
  readonly isSucceeding?: true
  /** With isSucceeding: the documents of the root for the key to sign with. Undefined for the key in use. */
  readonly succeedTo?: (db: Reader) => Promise<SignedDocuments | undefined>
}

/** The network and the keys of this authority, from its files. */
export async function loadIdentity(settings: AuthoritySettings, log: Log): Promise<Identity> {
  const { block: genesis, text: genesisText } = await loadGenesis(settings.genesisFile)
  const signer = await openSigner(settings.keySource, settings.keyId, log)
  const { formerKeySource } = settings
  const formerSigner = formerKeySource === undefined ? undefined : await openSigner(formerKeySource, 'former', log)
  requireOwnKey(settings, genesis, signer)
  const keys = await loadOwnKeys(settings.keyHistoryFile, genesis, signer, formerSigner)
  return { network: { name: genesis.network_name, genesis, genesisText }, signer, keys }
}

interface IdentityParts {
  readonly given: Identity
  readonly findKey: FindKey
  readonly keyCheck: KeyCheck
  readonly clock: Clock
}

/** Who signs on this database: the key of the settings, a later one after a switch, or the next one for the switch. */
async function chooseIdentity(
  database: Database,
  { isSucceeding, succeedTo }: IdentityOptions,
  { given, findKey, clock }: IdentityParts,
): Promise<Identity> {
  const present = (await findStoredIdentity(database.read, given, findKey, clock.now())) ?? given
  const documents = isSucceeding === true ? await succeedTo?.(database.read) : undefined
  if (documents === undefined) return present
  const next = await findNextIdentity(present, documents, findKey)
  if (next !== undefined) return next
  throw new StartError(
    `the next key ${documents.key_id} cannot be used: its key must be where the settings say that keys are, and the root key must have signed its block and a newer history`,
  )
}

/** After a power cut PostgreSQL may take this long. Then the start fails, and the service manager starts again. */
const WAIT_MS = 60_000
const PAUSE_MS = 1000
const REPORT_EVERY_MS = 10_000

export interface OpenOptions extends IdentityOptions {
  readonly log: Log
  /** Set in a service, which waits for its PostgreSQL until it is stopped. */
  readonly service?: { readonly stopped: AbortSignal }
}

export interface Opened {
  readonly database: Database
  readonly identity: LiveIdentity
}

/** Opens the database, migrated to this release and claimed for this authority. A failure names the setting to check. */
export async function openMigrated(
  settings: AuthoritySettings,
  options: OpenOptions,
  tools: IdentityParts,
): Promise<Opened> {
  const { clock } = tools
  const { log } = options
  const stopped = options.service?.stopped
  const { databaseLocation: place } = settings
  const startedMs = clock.monotonicMs()
  let reported: { readonly cause: string; readonly atMs: number } | undefined
  for (;;) {
    try {
      return await attempt(settings, options, tools)
    } catch (error) {
      const nowMs = clock.monotonicMs()
      const waits = stopped !== undefined && nowMs - startedMs < WAIT_MS && mayCome(place, error)
      if (!waits) throw cannotOpen(place, error) ?? error
      const cause = describeChain(error)
      if (cause !== reported?.cause || nowMs - reported.atMs >= REPORT_EVERY_MS) {
        log.warn('waiting for the database', { setting: 'DATABASE_URL', cause, limit_seconds: WAIT_MS / 1000 })
        reported = { cause, atMs: nowMs }
      }
      await sleep(PAUSE_MS, stopped)
      stopped.throwIfAborted()
    }
  }
}

async function attempt(settings: AuthoritySettings, options: OpenOptions, tools: IdentityParts): Promise<Opened> {
  const { clock, keyCheck } = tools
  const { log, isSucceeding } = options
  const database = openDatabase(settings.databaseLocation)
  try {
    if (settings.haMode) await checkDurability(database, settings.requireSyncStandby, log)
    await migrate(database, () => clock.now())
    const identity = new LiveIdentity(keyCheck.watchAll(await chooseIdentity(database, options, tools)))
    const { genesis } = identity.network
    await checkStartKeys(settings, genesis, identity.signer, clock.now(), log)
    if (isSucceeding !== true) await claimDatabase(database, genesis, identity.keys, clock.now())
    return { database, identity }
  } catch (error) {
    await database.close()
    throw error
  }
}

/** A server that starts or fails over is reachable after some seconds; a missing database, password or right is not. */
function mayCome(place: DatabaseLocation, error: unknown): error is Error {
  const failure = translateDatabaseError(error)
  const isAway = failure instanceof DatabaseUnavailableError && !(failure instanceof MissingRightError)
  return place.kind === 'postgres' && isAway && !isRefusedLogin(error) && !isPoolerRefusal(error)
}

/** The error for a database that cannot be opened, with its setting and the cause. Undefined for bugs. */
export function cannotOpen(place: DatabaseLocation, error: unknown): StartError | undefined {
  const setting = place.kind === 'sqlite' ? `DB_PATH: ${place.path}` : 'DATABASE_URL: the database'
  if (isPoolerRefusal(error))
    return new StartError('DATABASE_URL: a pooler answers; add ?pooler=transaction', { cause: error })
  const cause = isRefusedLogin(error) ? error : translateDatabaseError(error)
  if (cause === undefined) return undefined
  const isTemporary = mayCome(place, error)
  return new StartError(`${setting} cannot be opened: ${describeChain(cause)}`, { cause, isTemporary })
}
