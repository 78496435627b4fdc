import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readAuthoritySettings, startAuthority } from '@chancery/authority'
import type { AuthoritySettings, Core, Features, RunningAuthority } from '@chancery/authority'
import { DAY, draftGenesisBlock, signList, writeInstant, writeJson, writePrivateKeyFile } from '@chancery/protocol'
import type { GenesisBlock, JsonObject, Signer } from '@chancery/protocol'
import { type Clock, type Ids, type Log, requireValues, silentLog, systemClock } from '@chancery/service-kit'
import { type SendOptions, type TestResponse, operatorCaller, send } from './callers.ts'
import { testSeed, testSigner } from './keys.ts'
import { createMigratedDatabase } from './migrated-database.ts'
import type { Backend, TestDatabase } from './test-database.ts'

export interface TestAuthorityOptions {
  readonly settings?: Readonly<Record<string, string>>
  /** Operator name → tier; by default `privileged` and `standard`, each with the tier of its name. */
  readonly operators?: Readonly<Record<string, 'standard' | 'privileged'>>
  /** Another network has another root key and another authority key. */
  readonly network?: string
  /** All keys, those of operators included, are made from this text; '' gives those of TEST-NET to another network. */
  readonly keys?: string
  readonly clock?: Clock
  readonly ids?: Ids
  readonly log?: Log
  readonly backend?: Backend
  /** Use a database that already exists: a second instance, or a restart. */
  readonly database?: TestDatabase
}

type OperatorCaller = ReturnType<typeof operatorCaller>

export interface TestAuthority {
  readonly url: string
  readonly core: Core
  readonly features: Features
  readonly settings: AuthoritySettings
  /** Core, settings and features in one object: what functions of any feature take. */
  readonly parts: Core & Features & { readonly settings: AuthoritySettings }
  readonly genesis: GenesisBlock
  readonly authority: RunningAuthority
  readonly database: TestDatabase
  readonly signers: Readonly<Record<string, Signer>>
  request(method: string, target: string, options?: SendOptions): Promise<TestResponse>
  /** A caller that signs with the named operator key. */
  as(name: string): OperatorCaller
  /** Audit events of one kind, oldest first. */
  auditEvents(type?: string): Promise<readonly JsonObject[]>
  stop(): Promise<void>
}

const DEFAULT_NETWORK = 'TEST-NET'

/** Limits so high that functional tests never meet them. */
const HIGH_LIMITS = Object.fromEntries(
  [
    'ADMIN',
    'ADMIN_AUTH_FAILURES',
    'VERIFY',
    'EVIDENCE',
    'READ',
    'JOIN',
    'JOIN_FAILURES',
    'DISCOVER',
    'NODE',
    'NODE_KEY',
    'PUBLIC',
  ].map((name) => [`NA_RATE_LIMIT_${name}_PER_MINUTE`, '1000000']),
)

/** Starts a real authority in this process: real HTTP on a free port, its own database, real keys. */
export async function startTestAuthority(options: TestAuthorityOptions = {}): Promise<TestAuthority> {
  const tiers = options.operators ?? { privileged: 'privileged', standard: 'standard' }
  const clock = options.clock ?? systemClock
  const home = await mkdtemp(join(tmpdir(), 'chancery-home-'))
  const database = options.database ?? (await createMigratedDatabase(options.backend))
  const { network = DEFAULT_NETWORK, keys } = options
  const own = keys ?? (network === DEFAULT_NETWORK ? '' : `${network} `)
  const genesis = await signedGenesis(network, own, clock)
  await writeFile(join(home, 'genesis.json'), writeJson(genesis))
  await writeFile(join(home, 'na.key'), writePrivateKeyFile(testSeed(`${own}na`), 'na-test'), { mode: 0o600 })
  const signers: Record<string, Signer> = {}
  for (const name of Object.keys(tiers)) signers[name] = await testSigner(`op-${name}`, `${keys ?? ''}op-${name}`)
  const ids = Object.keys(tiers)
  const text = (values: Readonly<Record<string, string>>): string =>
    Object.entries(values)
      .map(([name, value]) => `${name}=${value}`)
      .join('\n')
  const settings = requireValues(
    readAuthoritySettings({
      flags: {},
      env: {},
      envFile: {
        path: 'test',
        text: text({
          GENESIS_FILE: join(home, 'genesis.json'),
          NA_PRIVATE_KEY_FILE: join(home, 'na.key'),
          NA_KEY_ID: 'na-test',
          OPERATOR_PUBLIC_KEYS_JSON: JSON.stringify(
            Object.fromEntries(ids.map((name) => [`op-${name}`, signers[name]?.publicKey])),
          ),
          OPERATOR_KEY_TIERS_JSON: JSON.stringify(Object.fromEntries(ids.map((name) => [`op-${name}`, tiers[name]]))),
          PORT: '0',
          ...HIGH_LIMITS,
          ...database.settings,
          // A clock that a test moves is not that of the database.
          ...(options.clock === undefined ? {} : { NA_CLOCK_CHECK: 'off' }),
          ...options.settings,
        }),
      },
    }),
  )
  const authority = await startAuthority(settings, {
    log: options.log ?? silentLog,
    clock,
    ...(options.ids === undefined ? {} : { ids: options.ids }),
  })
  const { url, core, features } = authority
  return {
    url,
    core,
    features,
    settings,
    parts: { ...core, settings, ...features },
    genesis,
    authority,
    database,
    signers,
    request: (method, target, sendOptions) => send(url, method, target, sendOptions),
    as(name) {
      const signer = signers[name]
      if (signer === undefined) throw new Error(`no operator named ${name}`)
      return operatorCaller(url, signer, genesis.network_authority.public_key, () => clock.now())
    },
    auditEvents: (type) => listAuditEvents(core, type),
    async stop() {
      authority.turnNotReady()
      // No new connection from here on. The rest of the drain waits for callers that keep theirs; a test has none left.
      void authority.stopAccepting()
      await authority.close()
      if (options.database === undefined) await database.drop()
      await rm(home, { recursive: true, force: true })
    },
  }
}

async function signedGenesis(network: string, own: string, clock: Clock): Promise<GenesisBlock> {
  const root = await testSigner('rs-test', `${own}root`)
  const na = await testSigner('na-test', `${own}na`)
  const draft = draftGenesisBlock({
    network_name: network,
    root_public_key: root.publicKey,
    network_authority: {
      public_key: na.publicKey,
      valid_from: writeInstant(clock.now() - DAY),
      valid_to: writeInstant(clock.now() + 90n * DAY),
    },
  })
  return signList(draft, root)
}

async function listAuditEvents(
  { database }: Pick<Core, 'database'>,
  type: string | undefined,
): Promise<readonly JsonObject[]> {
  let query = database.read.selectFrom('audit_events').select('event_json').orderBy('created_at')
  if (type !== undefined) query = query.where('event_type', '=', type)
  return (await query.execute()).map((row) => JSON.parse(row.event_json) as JsonObject)
}
