import { Refusal } from '@chancery/contract'
import { signatureLibrary } from '@chancery/protocol'
import {
  BatchClosed,
  BatchOverflow,
  Coalesced,
  LimiterUnavailable,
  MemoryLimiter,
  Turns,
  createServer,
  startJobs,
  systemClock,
  systemIds,
  watchProcess,
} from '@chancery/service-kit'
import type { Clock, HttpServer, Ids, Log, RunningService } from '@chancery/service-kit'
import { guardFor } from './auth/access.ts'
import { KeyringWatch } from './auth/keyring-watch.ts'
import { openNonceBook } from './auth/nonces.ts'
import { RevokedOperatorKeys } from './auth/operator-keys.ts'
import { BINDINGS } from './features.ts'
import { openAgentDesk } from './features/agents/desk.ts'
import { openActivePolicies } from './features/boundary-policies/active-set.ts'
import { GraphKeeper } from './features/connectome/keeper.ts'
import { CrlDesk } from './features/crl/desk.ts'
import { openEnrollmentDesk } from './features/enrollment/desk.ts'
import { EvidenceDesk } from './features/evidence/desk.ts'
import { registerGauges } from './features/health/gauges.ts'
import { checkReadiness } from './features/health/readiness.ts'
import { RecognitionPolicyCache } from './features/recognition-policy/cache.ts'
import { PublicMaterial } from './features/public-material.ts'
import { StartRefused, loadGenesis } from './genesis.ts'
import { checkDurability, checkProcess } from './ha-checks.ts'
import { authorityJobs } from './jobs.ts'
import { chooseLimiter } from './limiter.ts'
import { createMetrics } from './metrics.ts'
import type { Office } from './office.ts'
import type { AuthoritySettings } from './settings.ts'
import { ClockWatch } from './signing/clock-watch.ts'
import { openSigner } from './signing/key-providers.ts'
import { checkStart, claimIdentity } from './start-checks.ts'
import { UnknownOutcome } from './store/database.ts'
import type { Store } from './store/database.ts'
import { stampReader } from './store/heads.ts'
import { migrate } from './store/migrate.ts'
import { openStore, translateStoreError } from './store/open.ts'

export interface RunningAuthority extends RunningService {
  readonly url: string
  readonly office: Office
}

/** What tests replace; everything else is real. */
export interface AppParts {
  readonly log: Log
  readonly clock?: Clock
  readonly ids?: Ids
}

/** Builds the office, migrates the database, binds the features and listens. */
export async function startAuthority(settings: AuthoritySettings, parts: AppParts): Promise<RunningAuthority> {
  const { log, clock = systemClock, ids = systemIds } = parts
  const { block: genesis, text: genesisText } = await loadGenesis(settings.genesisFile)
  const signer = await openSigner(settings.keySource, settings.keyId, log)
  await checkStart(settings, genesis, signer, clock.now(), log)
  if (settings.haMode) await checkProcess()
  // Said before the database is touched.
  if (settings.limiterStore === 'redis')
    throw new StartRefused('RATE_LIMIT_STORE: redis comes with a later release, use database')
  const store = await openMigrated(settings, { genesis, signer, clock, log })
  let serving = true
  const routes = BINDINGS.map((binding) => binding.route)
  const metrics = createMetrics(routes)
  const clockWatch = new ClockWatch({ store, clock, log, offset: metrics.clockOffset, enabled: settings.clockCheck })
  await clockWatch.check()
  const office: Office = {
    settings,
    routes,
    genesis,
    genesisText,
    instance: settings.instanceId ?? ids.hex(12),
    signer,
    store,
    stamps: stampReader(store),
    nonces: openNonceBook(store),
    operators: settings.operators,
    revokedOperatorKeys: new RevokedOperatorKeys(),
    limiter: chooseLimiter(settings, { store, clock }),
    processLimiter: new MemoryLimiter(clock),
    publicMaterial: new PublicMaterial(),
    enrollment: openEnrollmentDesk(store, clock),
    crl: new CrlDesk(),
    agents: openAgentDesk(store, clock),
    connectome: new GraphKeeper(),
    evidence: new EvidenceDesk(),
    recognitionPolicy: new RecognitionPolicyCache(),
    boundaryPolicies: openActivePolicies(() => office),
    boundaryPolicyTurns: new Turns(),
    clock,
    ids,
    log,
    metrics,
    halts: [clockWatch],
    clockWatch,
    keyringWatch: new KeyringWatch(metrics.keyringsDiffer),
    readiness: new Coalesced(() => checkReadiness(office)),
    metricsText: new Coalesced(() => office.metrics.registry.render()),
    isServing: () => serving,
  }
  registerGauges(office)
  const watch = watchProcess(office.metrics.registry, clock)
  const server = buildServer(office)
  const url = await server.listen(settings.host, settings.port)
  const jobs = startJobs(authorityJobs(office), { clock, log, metrics: office.metrics.registry })
  log.info('authority is serving', {
    url,
    instance: office.instance,
    sovereign: genesis.network_name,
    backend: store.backend,
    signatures: signatureLibrary,
  })
  return {
    url,
    office,
    turnNotReady: () => {
      serving = false
    },
    stopAccepting: () => server.stopAccepting(),
    async close() {
      watch.stop()
      await jobs.stop()
      await office.enrollment.close()
      await office.crl.close()
      await office.agents.close()
      await office.connectome.close()
      await office.evidence.close()
      await office.nonces.close()
      await office.limiter.close()
      await store.close()
    },
  }
}

/** The database, brought up to this release and claimed for this authority; a failure names the setting to look at. */
async function openMigrated(
  settings: AuthoritySettings,
  { genesis, signer, clock, log }: Pick<Office, 'genesis' | 'signer' | 'clock' | 'log'>,
): Promise<Store> {
  const { storePlace: place } = settings
  const setting = place.kind === 'sqlite' ? `DB_PATH: ${place.path}` : 'DATABASE_URL: the database'
  let store: Store | undefined
  try {
    store = openStore(place)
    if (settings.haMode) await checkDurability(store, settings.requireSyncStandby, log)
    await migrate(store, () => clock.now())
    await claimIdentity(store, genesis, signer, clock.now())
    return store
  } catch (error) {
    await store?.close()
    if (translateStoreError(error) === undefined) throw error
    throw new StartRefused(`${setting} cannot be opened`, { cause: error })
  }
}

function buildServer(office: Office): HttpServer {
  return createServer({
    bindings: BINDINGS,
    context: office,
    guard: guardFor(office),
    ids: office.ids,
    log: office.log,
    proxyHops: office.settings.proxyHops,
    maxRequestBytes: office.settings.maxRequestBytes,
    translate,
    missing: { prefix: '/operator-console-static/', code: 'asset_not_found' },
    observe: (route, status, seconds) => office.metrics.requests.observe(route?.id ?? 'none', status, seconds),
  })
}

/** Failures of our own parts, as the refusal they mean. A lost COMMIT says so: the caller must look before repeating. */
function translate(error: unknown): Refusal | undefined {
  if (error instanceof UnknownOutcome)
    return new Refusal('service_unavailable', { outcome: 'unknown' }, { cause: error })
  const isBusy = error instanceof LimiterUnavailable || error instanceof BatchOverflow || error instanceof BatchClosed
  const cause = isBusy ? error : translateStoreError(error)
  return cause === undefined ? undefined : new Refusal('service_unavailable', {}, { cause })
}
