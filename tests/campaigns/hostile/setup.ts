import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LIMITERS } from '@chancery/contract'
import { readJson, writeJson } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import {
  accepted,
  createTestDatabase,
  createTestNetwork,
  enroll,
  foreignSovereign,
  nodeCaller,
  startAuthorityProcess,
  startGatewayProcess,
  testCertificate,
  testClient,
  testNetwork,
  testPolicy,
  testSigner,
} from '@chancery/testkit'
import type {
  AuthorityProcess,
  Backend,
  ForeignSovereign,
  GatewayProcess,
  NodeCaller,
  TestClient,
  TestNetwork,
} from '@chancery/testkit'
import { openRows } from '../lib/rows.ts'
import type { Rows } from '../lib/rows.ts'

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
  /** Where the gateway forwards a verification to the authority. */
  readonly forwarded: string
  stop(): Promise<void>
}

/** The usual limits; only the key of the other node is used more often than a node would use it. */
const SETTINGS = {
  ...Object.fromEntries(Object.values(LIMITERS).map((limiter) => [limiter.setting, String(limiter.default)])),
  [LIMITERS['node-key'].setting]: '100000000',
  EVIDENCE_STORE: 'on',
  RENEWAL_GRACE_SECONDS: '0',
}

export async function openAuthority(backend: Backend): Promise<AuthoritySetup> {
  const network = await createTestNetwork(`HOSTILE-${backend.toUpperCase()}`)
  const database = await createTestDatabase(backend)
  const authority = await startAuthorityProcess({ network, settings: { ...database.settings, ...SETTINGS } })
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
    startedAt: Date.now(),
    revocations: 0,
    async stop() {
      await rows.close()
      await authority.stop()
      await database.drop()
      await network.remove()
    },
  }
}

/** A deadline short enough for a body to miss it, and so few slots that a leaked one is detected. */
const GATEWAY_SETTINGS = {
  GATEWAY_TIMEOUT_MS: '1000',
  GATEWAY_MAX_INFLIGHT: '8',
  GATEWAY_LOG_LEVEL: 'error',
}

/** A real gateway with a real authority. */
export async function openGateway({ authority, network }: AuthoritySetup): Promise<GatewaySetup> {
  const home = await mkdtemp(join(tmpdir(), 'chancery-hostile-'))
  const client = testClient('other', [network.name], {
    service_groups: ['evidence', 'agreement'],
    requests_per_minute: 1_000_000,
  })
  const list = readJson((await authority.request('GET', '/crl')).text) as never
  const by = { network: network.name, keyId: network.authority.keyId, signer: network.authority }
  const reached = { authority_url: authority.url, allow_http: true }
  const policy = testPolicy({ [network.name]: testNetwork(by, list, reached) }, [client])
  await writeFile(join(home, 'policy.json'), writeJson(policy), { mode: 0o600 })
  const gateway = await startGatewayProcess({ ...GATEWAY_SETTINGS, GATEWAY_POLICY_FILE: join(home, 'policy.json') })
  if (gateway === undefined) throw new Error('the gateway did not start')
  return {
    url: gateway.url,
    gateway,
    client,
    forwarded: `/v1/networks/${network.name}/services/evidence-verify`,
    certificate: { ...(await testCertificate(by, systemClock.now())) },
    async stop() {
      await gateway.stop()
      await rm(home, { recursive: true, force: true })
    },
  }
}
