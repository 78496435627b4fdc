import {
  MemoryLimiter,
  ReportedLimiter,
  StartError,
  SupervisedLimiter,
  claimNewestBy,
  systemClock,
  systemIds,
} from '@chancery/service-kit'
import type { Clock, Ids, Log, WorkerStart } from '@chancery/service-kit'
import { ALL_ROUTES } from '@chancery/contract'
import { OperatorKeysCheck } from '../auth/operator-keys-check.ts'
import { Audit } from '../audit/record.ts'
import { Signing } from '../signing/sign-record.ts'
import { openNonceQueues } from '../auth/nonces.ts'
import { LiveKeyring, RevokedOperatorKeys } from '../auth/operator-keys.ts'
import { OperatorsFileReader } from '../auth/operators-file.ts'
import { checkLogOrigin, checkProcess, openLogSigners } from './checks.ts'
import { chooseLimiter } from '../limits/choose-limiter.ts'
import { createMetrics } from '../metrics.ts'
import type { Core } from '../core.ts'
import { keyFinder } from '../signing/find-key.ts'
import { Gate, KeyOwnerCheck } from '../signing/key-owner-check.ts'
import type { AuthoritySettings } from '../settings/authority-settings.ts'
import { DAILY_DELAY_MS, NONCE_DELAY_MS, PurgeClock } from '../clock/purge-clock.ts'
import { ClockCheck } from '../clock/clock-check.ts'
import { KeyCheck } from '../signing/key-check.ts'
import { MarkFileError } from '../rollback/mark-file.ts'
import { NewestBlocks } from '../signing/newest-block.ts'
import { RecordFaults } from '../signing/record-faults.ts'
import { VerifiedTreaties } from '../signing/verified-treaties.ts'
import { RollbackCheck, type RollbackCheckParts } from '../rollback/rollback-check.ts'
import { type IdentityOptions, loadIdentity, openMigrated } from './open-migrated.ts'
import { ActiveWindow } from '../database/migrate.ts'
import type { Database } from '../database/database.ts'
import { versionReader } from '../database/locks/versions.ts'
import { type Reads, ReplicaReads, readsOfPrimary } from '../database/replica/reads.ts'
import { openPostgres } from '../database/postgres/open.ts'

/** Parts that tests replace. Everything else is real. */
export interface AppParts {
  readonly log: Log
  readonly clock?: Clock
  readonly ids?: Ids
  /** Set in a service: it waits for its database, and holds disk space for revocations. */
  readonly service?: { readonly stopped: AbortSignal }
  /** Set in a worker process. */
  readonly worker?: Pick<WorkerStart<unknown>, 'worker' | 'channel' | 'restarts' | 'shareMetrics'>
}

export interface CoreOptions extends AppParts, IdentityOptions {
  readonly isServing?: () => boolean
  /** Allows signing although the database is rolled back, for the command that repairs it. */
  readonly isRecovering?: true
}

export interface OpenCore {
  readonly core: Core
  /** Finishes queued work, then closes the database. */
  close(): Promise<void>
}

/** Opens the parts that features share, checked and connected, without a listener and without jobs. */
// oxlint-disable-next-line max-lines-per-function -- one member per part of the core
export async function openCore(settings: AuthoritySettings, parts: CoreOptions): Promise<OpenCore> {
  const { log, clock = systemClock, ids = systemIds, worker } = parts
  const metrics = createMetrics(ALL_ROUTES, clock)
  const keyCheck = new KeyCheck({ clock, log, unavailable: metrics.signingUnavailable })
  const given = await loadIdentity(settings, log)
  const otherKeys = [given.network.genesis.root_public_key, ...given.keys.all]
  const logSigners = await openLogSigners(settings, otherKeys, log)
  const findKey = keyFinder([settings.keySource, settings.formerKeySource], log)
  if (settings.haMode) await checkProcess({ log })
  const isSucceeding = parts.isSucceeding === true
  const { database, identity } = await openMigrated(settings, parts, { given, findKey, keyCheck, clock })
  const { network, signer, keys } = identity
  await checkLogOrigin(database, settings)
  const clockCheck = new ClockCheck({ database, clock, log, offset: metrics.clockOffset, enabled: settings.clockCheck })
  const mark = { database, signer, ownKeys: keys, networkName: network.name, clock, log }
  const rollback = await openRollbackCheck(settings, mark)
  const gates = { jobs: new Gate(), calls: new Gate() }
  const keyOwnerCheck = new KeyOwnerCheck({ database, clock, log, identity, findKey, keyCheck, gates })
  await clockCheck.check()
  const recordFaults = new RecordFaults(log)
  const local = worker === undefined ? new MemoryLimiter(clock) : new ReportedLimiter(clock, worker.channel)
  const halts =
    parts.isRecovering === true || isSucceeding ? [clockCheck] : [clockCheck, rollback, keyOwnerCheck, keyCheck]
  const instance = instanceName(settings.instanceId, worker?.worker) ?? ids.hex(12)
  const refusalLimits = worker === undefined ? local : new SupervisedLimiter(clock, worker.channel)
  const audit = new Audit({ database, clock, ids, log, metrics, refusalLimits })
  const core: Core = {
    network,
    instance,
    activeWindow: await ActiveWindow.open(settings.heartbeatSeconds, database.read, clock.now()),
    keys,
    database,
    ...openReads(settings, { database, rollback, log, metrics }),
    ...openNonceQueues(database),
    ...openOperators(settings, { network, keys, instance, database, audit, log, rollback }),
    revokedOperatorKeys: new RevokedOperatorKeys(),
    limits: {
      shared: await chooseLimiter(settings, {
        database,
        rootPublicKey: network.genesis.root_public_key,
        clock,
        log,
        metrics,
      }),
      local,
      perMinute: settings.limits,
    },
    claimNewest: worker === undefined ? undefined : claimNewestBy(worker.channel),
    audit,
    signing: new Signing({ signer, network, clock, log, settings, halts }),
    clock,
    ids,
    log,
    metrics,
    recordFaults,
    logSigners,
    verifiedTreaties: new VerifiedTreaties(keys, recordFaults),
    newestBlock: new NewestBlocks({ database, identity }),
    rollback,
    keyOwnerCheck,
    findKey,
    gates,
    keyCheck,
    clockCheck,
    purgeClock: openPurgeClocks(clock),
    operatorKeysCheck: new OperatorKeysCheck(metrics.keyringsDiffer),
    isServing: parts.isServing ?? (() => true),
    doWorkersRestart: () => worker?.restarts.areRepeated() ?? false,
  }
  return { core, close: () => closeCore(core) }
}

function openPurgeClocks(clock: Clock): Core['purgeClock'] {
  return { nonces: new PurgeClock(clock, NONCE_DELAY_MS), daily: new PurgeClock(clock, DAILY_DELAY_MS) }
}

/** Workers are instances: each has its own name. */
function instanceName(given: string | undefined, worker: number | undefined): string | undefined {
  return given === undefined || worker === undefined ? given : `${given}-${worker}`
}

type OperatorParts = Pick<Core, 'audit' | 'database' | 'instance' | 'keys' | 'log' | 'network' | 'rollback'>

/** The operators of the settings, or of a file that is read again when it changes. */
function openOperators(
  { operators, operatorsFile: path }: AuthoritySettings,
  { network, keys, rollback, ...parts }: OperatorParts,
): Pick<Core, 'operators' | 'operatorsFile'> {
  if (path === undefined) return { operators, operatorsFile: undefined }
  const ring = new LiveKeyring(operators)
  const reserved = (): readonly string[] => [network.genesis.root_public_key, ...keys.all]
  const operatorsFile = new OperatorsFileReader({ ...parts, path, ring, reserved, isHalted: () => rollback.isHalted() })
  return { operators: ring, operatorsFile }
}

/** The replica needs not be there: the primary answers until it is. */
function openReads(
  { databaseReadUrl: place }: AuthoritySettings,
  { database, rollback, log, metrics }: Pick<Core, 'database' | 'rollback' | 'log' | 'metrics'>,
): Pick<Core, 'versions' | 'reads' | 'agentReads'> {
  const versions = versionReader(database, (found) => reads.see(agentReads.see(rollback.see(found))))
  // Its identity is read with every read: another server behind the same address proves nothing about this one.
  const replica = place && openPostgres(place.url, 'transaction')
  const open = (given: Database): Reads =>
    new ReplicaReads({
      primary: database,
      replica: given,
      readVersions: () => versions.read(),
      maxLagMs: (place?.maxLagSeconds ?? 0) * 1000,
      count: (answered_by) => metrics.replicaReads.with({ answered_by }).increase(),
      log,
    })
  const reads = replica === undefined ? readsOfPrimary(database) : open(replica)
  // The other one closes the replica.
  const agentReads = replica === undefined ? reads : open({ ...replica, close: () => Promise.resolve() })
  return { versions, reads, agentReads }
}

async function closeCore({
  audit,
  nonces,
  revocationNonces,
  limits,
  reads,
  agentReads,
  database,
}: Core): Promise<void> {
  await audit.close()
  await nonces.close()
  await revocationNonces.close()
  await limits.shared.close()
  await agentReads.close()
  await reads.close()
  await database.close()
}

async function openRollbackCheck(
  settings: AuthoritySettings,
  parts: Omit<RollbackCheckParts, 'files'>,
): Promise<RollbackCheck> {
  const { database, log } = parts
  const files = settings.highWaterFiles
  if (files.length === 0)
    log.warn('no high-water mark configured: a restored old backup is not detected', { setting: 'NA_HIGH_WATER_FILES' })
  else if (settings.haMode && files.length === 1)
    log.warn('the high-water mark is stored in one location only', { setting: 'NA_HIGH_WATER_FILES' })
  const watch = new RollbackCheck({ ...parts, files })
  try {
    await watch.open()
    return watch
  } catch (error) {
    await database.close()
    if (error instanceof MarkFileError) throw new StartError(`NA_HIGH_WATER_FILES: ${error.message}`, { cause: error })
    throw error
  }
}
