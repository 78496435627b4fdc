import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { LIMITERS } from '@chancery/contract'
import { DAY, readJson, writeInstant, writeJson, writePrivateKeyFile } from '@chancery/protocol'
import type { JsonObject, Signer } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import {
  accepted,
  createTestDatabase,
  createTestNetwork,
  enroll,
  foreignSovereign,
  freePort,
  nodeCaller,
  operatorCaller,
  ownKeysOf,
  startAuthorityProcess,
  startGatewayProcess,
  testCertificate,
  testClient,
  testNetwork,
  testPolicy,
  testSeed,
  testSigner,
} from '@chancery/testkit'
import type {
  AuthorityProcess,
  Backend,
  ForeignSovereign,
  GatewayProcess,
  NodeCaller,
  TestClient,
  TestIssuer,
  TestNetwork,
  TestResponse,
} from '@chancery/testkit'
import { withMoreOperators } from '../lib/instances.ts'
import type { Random } from '../lib/random.ts'
import { openRows, type Rows } from '../lib/rows.ts'
import { amountIntent, CEDAR_CAPABILITY, cedarIntent, factIntent, openFactServer, openSvidIssuer } from './members.ts'
import type { FactServer, SvidIssuer } from './members.ts'

/** A real authority with the usual limits, and the other callers that it must serve. */
export interface AuthoritySetup {
  readonly backend: Backend
  readonly url: string
  readonly network: TestNetwork
  readonly authority: AuthorityProcess
  readonly rows: Rows
  /** Another caller, which does nothing wrong. */
  readonly node: NodeCaller
  readonly certId: string
  /** Recognised by a treaty of this authority, for role:client. */
  readonly partner: ForeignSovereign
  readonly treaty: JsonObject
  readonly attestation: JsonObject
  /** Accepted with the partner, and its capabilities. */
  readonly agreement: JsonObject
  readonly agreed: readonly string[]
  /** An attestation for a capability that a Cedar policy decides. */
  readonly rotator: string
  /** A folder with the home `elsewhere`: the configuration of another network with this address. */
  readonly home: string
  /** What a policy asks. */
  readonly facts: FactServer
  /** Whose workloads may join. */
  readonly svids: SvidIssuer
  readonly startedAt: number
  /** Lists that were published because the campaign revoked something. */
  revocations: number
  stop(): Promise<void>
}

export interface GatewaySetup {
  readonly url: string
  readonly gateway: GatewayProcess
  readonly client: TestClient
  readonly certificate: JsonObject
  /** Issues certificates that the gateway trusts. */
  readonly by: TestIssuer
  /** Where proxies ask, over HTTP and over gRPC. */
  readonly check: string
  readonly grpc: string
  /** Where the gateway forwards a verification to the authority. */
  readonly forwarded: string
  stop(): Promise<void>
}

/** What one key may have stored on a day. */
export const DAILY_BYTES = 100_000

/** Operators who ask for decisions, so that no key reaches its bytes of the day because of earlier cases. */
const DECIDERS = Array.from({ length: 500 }, (_, index) => `decider-${index}`)

/** A call by one of the operators who ask for decisions. */
export async function decider(
  { url, network }: AuthoritySetup,
  random: Random,
): Promise<ReturnType<typeof operatorCaller>> {
  const signer = await testSigner(random.pick(DECIDERS as [string, ...string[]]))
  return operatorCaller(url, signer, network.authority.publicKey, () => systemClock.now())
}

/** The usual limits; only the key of the other node is used more often than a node would use it. */
const SETTINGS = {
  ...Object.fromEntries(Object.values(LIMITERS).map((limiter) => [limiter.setting, String(limiter.default)])),
  [LIMITERS['node-key'].setting]: '100000000',
  EVIDENCE_STORE: 'on',
  NA_NODE_DECISIONS: 'own',
  BOUNDARY_POLICY_ENFORCEMENT: 'required',
  NA_DECISION_BYTES_PER_KEY_PER_DAY: String(DAILY_BYTES),
  NA_PARTNER_CONTACT_MAX_AGE_SECONDS: '3600',
  NA_PARTNER_ADDRESSES: 'loopback',
}
/** The authority counts the callers that this gateway names. */
export const trustedGateway = (): Promise<Signer> => testSigner('trusted-gateway')

const AGREED = ['ledger.read', 'ledger.append', 'vault.open']

export async function openAuthority(backend: Backend): Promise<AuthoritySetup> {
  const network = await createTestNetwork(`HOSTILE-${backend.toUpperCase()}`)
  const database = await createTestDatabase(backend)
  const [facts, svids] = [await openFactServer(), await openSvidIssuer()]
  const asked = { NA_FACT_ORIGINS: facts.origin, NA_TRUSTED_GATEWAY_KEYS: (await trustedGateway()).publicKey }
  const operators = await withMoreOperators(network, DECIDERS)
  const settings = { ...database.settings, ...SETTINGS, ...asked, ...operators }
  const authority = await startAuthorityProcess({ network, settings })
  const node = nodeCaller(authority.url, await testSigner(`bystander-${backend}`), () => systemClock.now())
  const certificate = await enroll(authority, node)
  const partner = foreignSovereign('PARTNER-NET', `hostile-partner-${backend}`)
  const privileged = authority.as('privileged')
  const treaty = await privileged('POST', '/admin/recognition-treaties', {
    subject_sovereign_id: partner.sovereign_id,
    subject_public_keys: [partner.publicKey],
    scope: { allowed_roles: ['role:client'] },
  })
  const attestation = await privileged('POST', '/admin/attestations', { subject_id: 'member', roles: ['role:client'] })
  const rows = await openRows(database)
  accepted(await privileged('POST', '/admin/admission-rules', svids.rule), 201)
  for (const intent of [amountIntent('amounts'), cedarIntent('rotations'), factIntent(facts.origin)]) {
    const publish = () => privileged('POST', '/admin/boundary-policies', intent)
    const { version = null } = accepted(await untilTaken(publish), 201)
    accepted(
      await untilTaken(() => privileged('POST', `/admin/boundary-policies/${intent.policy_id}/activate`, { version })),
    )
  }
  const home = await writeElsewhere(authority.url)
  const claims = { capabilities: [CEDAR_CAPABILITY] }
  const rotator = await privileged('POST', '/admin/attestations', { subject_id: 'v', roles: ['role:client'], claims })
  return {
    backend,
    url: authority.url,
    network,
    authority,
    rows,
    node,
    certId: certificate.cert_id,
    partner,
    treaty: accepted(treaty, 201),
    attestation: accepted(attestation, 201),
    agreement: await agree(authority, partner.sovereign_id),
    agreed: AGREED,
    rotator: accepted(rotator, 201)['attestation_id'] as string,
    home,
    facts,
    svids,
    startedAt: Date.now(),
    revocations: 0,
    async stop() {
      await rows.close()
      await authority.stop()
      await facts.stop()
      await svids.remove()
      await database.drop()
      await network.remove()
      await rm(home, { recursive: true, force: true })
    },
  }
}

/** The thread of Cedar may start late on a loaded machine: then texts take too long to check. */
async function untilTaken(send: () => Promise<TestResponse>): Promise<TestResponse> {
  let answer = await send()
  for (let tries = 0; tries < 10 && answer.status >= 400; tries += 1, await pause(1000)) answer = await send()
  return answer
}

async function agree(authority: AuthorityProcess, responder_sovereign_id: string): Promise<JsonObject> {
  const now = systemClock.now()
  const [from, until] = [writeInstant(now - DAY), writeInstant(now + DAY)]
  const terms = {
    responder_sovereign_id,
    capabilities: AGREED,
    valid_from: from,
    valid_until: until,
    expires_at: until,
  }
  const offer = accepted(await authority.as('standard')('POST', '/admin/agreements/offer', terms), 201)
  return accepted(await authority.as('standard')('POST', '/admin/agreements/accept', { offer }), 201)
}

async function writeElsewhere(url: string): Promise<string> {
  const place = await mkdtemp(join(tmpdir(), 'chancery-hostile-'))
  const home = join(place, 'elsewhere')
  await mkdir(home)
  const other = await createTestNetwork('ELSEWHERE', ownKeysOf('ELSEWHERE'))
  await copyFile(other.settings['GENESIS_FILE'] ?? '', join(home, 'genesis.json'))
  await other.remove()
  const key = writePrivateKeyFile(testSeed('op-privileged'), 'op-privileged')
  await writeFile(join(home, 'operator.key'), key, { mode: 0o600 })
  const paths = '[paths]\ngenesis = "genesis.json"\noperator_private_key = "operator.key"\n'
  await writeFile(join(home, 'chancery.toml'), `[network]\nname = "ELSEWHERE"\nna_endpoint = "${url}"\n${paths}`)
  return place
}

/** A deadline short enough for a body to miss it, and so few slots that a leaked one is detected. */
const GATEWAY_SETTINGS = {
  GATEWAY_TIMEOUT_MS: '1000',
  GATEWAY_MAX_INFLIGHT: '8',
  GATEWAY_LOG_LEVEL: 'error',
}

export const AUDIENCE = 'https://print.example'
/** Requests of one node in a minute. */
export const NODE_REQUESTS = 20
/** The check of the gateway. */
export const CHECK = {
  audience: AUDIENCE,
  requests_per_minute: NODE_REQUESTS,
  routes: [
    { method: 'GET', path: '/jobs/{job}' },
    { method: 'POST', path: '/jobs' },
  ],
}

/** A real gateway with a real authority. */
export async function openGateway({ authority, network }: AuthoritySetup): Promise<GatewaySetup> {
  const place = await mkdtemp(join(tmpdir(), 'chancery-hostile-'))
  const home = join(place, 'elsewhere')
  await mkdir(home)
  const client = testClient('other', [network.name], {
    service_groups: ['evidence', 'agreement'],
    requests_per_minute: 1_000_000,
  })
  const list = readJson((await authority.request('GET', '/crl')).text) as never
  const by = { network: network.name, keyId: network.authority.keyId, signer: network.authority }
  const reached = { authority_url: authority.url, allow_http: true }
  const policy = { ...testPolicy({ [network.name]: testNetwork(by, list, reached) }, [client]), check: CHECK }
  const [check, grpc] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
  await writeFile(join(home, 'policy.json'), writeJson(policy), { mode: 0o600 })
  const gateway = await startGatewayProcess({
    ...GATEWAY_SETTINGS,
    GATEWAY_POLICY_FILE: join(home, 'policy.json'),
    GATEWAY_CHECK_ADDR: check,
    GATEWAY_CHECK_GRPC_ADDR: grpc,
    GATEWAY_CHECK_DIALECT: 'original',
  })
  if (gateway === undefined) throw new Error('the gateway did not start')
  return {
    url: gateway.url,
    gateway,
    client,
    by,
    check: `http://${check}`,
    grpc,
    forwarded: `/v1/networks/${network.name}/services/evidence-verify`,
    certificate: { ...(await testCertificate(by, systemClock.now())) },
    async stop() {
      await gateway.stop()
      await rm(home, { recursive: true, force: true })
    },
  }
}
