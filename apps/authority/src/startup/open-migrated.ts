import { type Log, StartError, describeChain, sleep } from '@chancery/service-kit'
import { DatabaseUnavailableError, MissingRightError } from '../database/errors.ts'
import type { Database } from '../database/database.ts'
import { migrate } from '../database/migrate.ts'
import { type DatabaseLocation, openDatabase, translateDatabaseError } from '../database/open.ts'
import { isPoolerRefusal } from '../database/postgres/pooled-client.ts'
import { isRefusedLogin } from '../database/postgres/open.ts'
import type { AuthoritySettings } from '../settings/authority-settings.ts'
import { LiveIdentity } from '../signing/identity.ts'
import { checkDurability } from './check-durability.ts'
import { checkStartKeys, claimDatabase } from './check-keys.ts'
import { type IdentityOptions, type IdentityParts, chooseIdentity } from './open-identity.ts'

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
