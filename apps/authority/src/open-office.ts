import { Coalesced, MemoryLimiter, ReadinessEvents, Turns, systemClock, systemIds } from '@chancery/service-kit'
import type { Clock, Ids, Log } from '@chancery/service-kit'
import { KeyringWatch } from './auth/keyring-watch.ts'
import { openAuditDesk } from './audit/desk.ts'
import { openNonceBook } from './auth/nonces.ts'
import { RevokedOperatorKeys } from './auth/operator-keys.ts'
import { bindingsFor } from './features.ts'
import { openAgentDesk } from './features/agents/desk.ts'
import { StandingDesk } from './features/attestations/index.ts'
import { openActivePolicies } from './features/boundary-policies/active-set.ts'
import { GraphKeeper } from './features/connectome/keeper.ts'
import { CrlDesk } from './features/crl/desk.ts'
import { openEnrollmentDesk } from './features/enrollment/desk.ts'
import { EvidenceDesk } from './features/evidence/desk.ts'
import { HealthReports, HealthWatch, checkReadiness } from './features/health/index.ts'
import { RecognitionPolicyCache } from './features/recognition-policy/cache.ts'
import { PublicMaterial } from './features/public-material.ts'
import { StartRefused, loadGenesis } from './genesis.ts'
import { checkDurability, checkProcess } from './ha-checks.ts'
import { chooseLimiter } from './limiter.ts'
import { createMetrics } from './metrics.ts'
import type { Office } from './office.ts'
import type { AuthoritySettings } from './settings.ts'
import { DAY_SETTLES_MS, NONCES_SETTLE_MS, SettledTime } from './settled-time.ts'
import { ClockWatch } from './signing/clock-watch.ts'
import { KeyWatch } from './signing/key-watch.ts'
import { MarkUnusable } from './signing/high-water.ts'
import { openSigner } from './signing/key-providers.ts'
import { loadOwnKeys } from './signing/own-keys.ts'
import { NewestBlocks } from './signing/newest-block.ts'
import { RecordFaults } from './signing/record-faults.ts'
import { VerifiedTreaties } from './signing/verified-treaties.ts'
import { RollbackWatch } from './signing/rollback-watch.ts'
import { checkStart, claimIdentity } from './start-checks.ts'
import type { Store } from './store/database.ts'
import { stampReader } from './store/heads.ts'
import { migrate } from './store/migrate.ts'
import { openStore, translateStoreError } from './store/open.ts'

/** What tests replace; everything else is real. */
export interface AppParts {
  readonly log: Log
  readonly clock?: Clock
  readonly ids?: Ids
}

export interface OfficeParts extends AppParts {
  readonly isServing?: () => boolean
  /** Signing although the database is behind its mark: the one command that mends it. */
  readonly isRecovering?: true
  /** With the new key on a database of the old one: the one command that makes it the new one's. */
  readonly isSucceeding?: true
}

export interface OpenOffice {
  readonly office: Office
  /** Flushes what waits, then closes the database. */
  close(): Promise<void>
}

/** Everything a handler works with, checked and connected, without a listener and without jobs. */
export async function openOffice(settings: AuthoritySettings, parts: OfficeParts): Promise<OpenOffice> {
  const { log, clock = systemClock, ids = systemIds } = parts
  const { block: genesis, text: genesisText } = await loadGenesis(settings.genesisFile)
  const signer = await openSigner(settings.keySource, settings.keyId, log)
  await checkStart(settings, genesis, signer, clock.now(), log)
  const { formerKeySource } = settings
  const formerSigner = formerKeySource === undefined ? undefined : await openSigner(formerKeySource, 'former', log)
  const ownKeys = await loadOwnKeys(settings.keyHistoryFile, genesis, signer, formerSigner)
  if (settings.haMode) await checkProcess({ coreDumps: settings.coreDumps, log })
  const isSucceeding = parts.isSucceeding === true
  const store = await openMigrated(settings, { genesis, clock, log, ownKeys }, isSucceeding)
  const { open, management } = bindingsFor(settings)
  const routes = open.map((binding) => binding.route)
  const metrics = createMetrics([...new Set([...routes, ...management.map((binding) => binding.route)])], clock)
  const clockWatch = new ClockWatch({ store, clock, log, offset: metrics.clockOffset, enabled: settings.clockCheck })
  const rollbackWatch = await openRollbackWatch(settings, { store, signer, ownKeys, genesis, clock, log })
  const keyWatch = new KeyWatch(store, signer.publicKey, log)
  await clockWatch.check()
  const recordFaults = new RecordFaults(log)
  const readinessEvents = new ReadinessEvents(log, clock)
  const office: Office = {
    settings,
    routes,
    genesis,
    genesisText,
    instance: settings.instanceId ?? ids.hex(12),
    signer,
    ownKeys,
    store,
    stamps: stampReader(store, (stamps) => rollbackWatch.see(stamps)),
    nonces: openNonceBook(store),
    operators: settings.operators,
    revokedOperatorKeys: new RevokedOperatorKeys(),
    limiter: await chooseLimiter(settings, { store, signer, clock, log, metrics }),
    processLimiter: new MemoryLimiter(clock),
    publicMaterial: new PublicMaterial(),
    enrollment: openEnrollmentDesk(store, clock),
    crl: new CrlDesk(),
    agents: openAgentDesk(store, clock),
    connectome: new GraphKeeper(),
    evidence: new EvidenceDesk(),
    recognitionPolicy: new RecognitionPolicyCache(),
    standings: new StandingDesk(() => office),
    boundaryPolicies: openActivePolicies(() => office),
    boundaryPolicyTurns: new Turns(),
    auditDesk: openAuditDesk(() => office),
    clock,
    ids,
    log,
    metrics,
    halts: parts.isRecovering === true || isSucceeding ? [clockWatch] : [clockWatch, rollbackWatch, keyWatch],
    recordFaults,
    verifiedTreaties: new VerifiedTreaties(ownKeys, recordFaults),
    newestBlock: new NewestBlocks({ store, genesis, genesisText, ownKeys }),
    rollbackWatch,
    keyWatch,
    clockWatch,
    settledTime: {
      nonces: new SettledTime(clock, NONCES_SETTLE_MS),
      daily: new SettledTime(clock, DAY_SETTLES_MS),
    },
    keyringWatch: new KeyringWatch(metrics.keyringsDiffer),
    readiness: new Coalesced(async () => {
      const readiness = await checkReadiness(office)
      readinessEvents.see(readiness.reasons)
      return readiness
    }),
    health: new HealthReports(() => office),
    healthWatch: new HealthWatch(),
    metricsText: new Coalesced(() => office.metrics.registry.render()),
    isServing: parts.isServing ?? (() => true),
  }
  return { office, close: () => closeOffice(office) }
}

async function closeOffice(office: Office): Promise<void> {
  await office.enrollment.close()
  await office.crl.close()
  await office.agents.close()
  await office.connectome.close()
  await office.evidence.close(office)
  await office.standings.close()
  await office.auditDesk.close()
  await office.nonces.close()
  await office.limiter.close()
  await office.store.close()
}

async function openRollbackWatch(
  settings: AuthoritySettings,
  parts: Pick<Office, 'store' | 'signer' | 'ownKeys' | 'genesis' | 'clock' | 'log'>,
): Promise<RollbackWatch> {
  const { store, signer, ownKeys, genesis, clock, log } = parts
  const files = settings.highWaterFiles
  if (files.length === 0)
    log.warn('no high-water mark is kept: an old backup would pass for the present', { setting: 'NA_HIGH_WATER_FILES' })
  else if (settings.haMode && files.length === 1)
    log.warn('the high-water mark is kept in one place only', { setting: 'NA_HIGH_WATER_FILES' })
  const watch = new RollbackWatch({ store, signer, ownKeys, networkName: genesis.network_name, clock, log, files })
  try {
    await watch.open()
    return watch
  } catch (error) {
    await store.close()
    if (error instanceof MarkUnusable) throw new StartRefused(`NA_HIGH_WATER_FILES: ${error.message}`, { cause: error })
    throw error
  }
}

/** The database, brought up to this release and claimed for this authority; a failure names the setting to look at. */
async function openMigrated(
  settings: AuthoritySettings,
  { genesis, clock, log, ownKeys }: Pick<Office, 'genesis' | 'clock' | 'log' | 'ownKeys'>,
  isSucceeding: boolean,
): Promise<Store> {
  const { storePlace: place } = settings
  const setting = place.kind === 'sqlite' ? `DB_PATH: ${place.path}` : 'DATABASE_URL: the database'
  let store: Store | undefined
  try {
    store = openStore(place)
    if (settings.haMode) await checkDurability(store, settings.requireSyncStandby, log)
    await migrate(store, () => clock.now())
    if (!isSucceeding) await claimIdentity(store, genesis, ownKeys, clock.now())
    return store
  } catch (error) {
    await store?.close()
    if (translateStoreError(error) === undefined) throw error
    throw new StartRefused(`${setting} cannot be opened`, { cause: error })
  }
}
