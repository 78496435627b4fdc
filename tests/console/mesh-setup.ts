import { type JsonObject, readRevocationList } from '@chancery/protocol'
import { accepted, startTestAuthority, startTestGateway, testClient, testPolicy } from '@chancery/testkit'
import type { TestAuthority, TestClient, TestGateway } from '@chancery/testkit'

/** Two authorities that recognise each other, a third one that is recognised, and a gateway for all of them. */
export interface MeshSetup {
  readonly authorities: readonly TestAuthority[]
  readonly aurora: TestAuthority
  readonly gateway: TestGateway
  /** A token that may use all operations of its groups, including operator-signed ones. */
  readonly operator: TestClient
  /** A token that may read one network. */
  readonly reader: TestClient
  /** A token with a quota of two requests a minute. */
  readonly hasty: TestClient
  stop(): Promise<void>
}

const NAMES = ['AURORA-NET', 'BOREALIS-NET', 'CIRRUS-NET'] as const
const GROUPS = ['administration', 'attestations', 'network', 'treaties', 'evidence_store']

export async function startMeshSetup(): Promise<MeshSetup> {
  const authorities = await Promise.all(
    NAMES.map((network) => startTestAuthority({ network, settings: { EVIDENCE_STORE: 'on' } })),
  )
  const [aurora, borealis, cirrus] = authorities as [TestAuthority, TestAuthority, TestAuthority]
  await recognise(aurora, borealis, 700)
  await recognise(borealis, aurora, 700)
  await recognise(aurora, cirrus, 24)
  for (const [na, subjects] of [
    [aurora, ['payments-1', 'ledger', 'archive']],
    [borealis, ['relay-north']],
  ] as const)
    for (const subject of subjects) await attest(na, subject)
  await importFeed(aurora, borealis)
  const operator = testClient('ops-team', NAMES, { service_groups: GROUPS, authority_admin: true })
  const reader = testClient('reader', ['AURORA-NET'], { service_groups: ['network'] })
  const hasty = testClient('hasty', ['AURORA-NET'], { service_groups: ['network'], requests_per_minute: 2 })
  const networks = await Promise.all(authorities.map(async (na) => [na.genesis.network_name, await pin(na)] as const))
  const policy = testPolicy(Object.fromEntries(networks), [operator, reader, hasty])
  const gateway = await startTestGateway({ policy, state: 'new' })
  return {
    authorities,
    aurora,
    gateway,
    operator,
    reader,
    hasty,
    async stop() {
      await gateway.stop()
      await Promise.all(authorities.map((na) => na.stop()))
    },
  }
}

/** The network of an authority, as the policy of a gateway has it. */
export async function pin(na: TestAuthority): Promise<JsonObject> {
  const crl = readRevocationList(accepted(await na.request('GET', '/crl')))
  return {
    anchors: { [crl.issuer]: na.genesis.network_authority.public_key },
    crl: { ...crl },
    minimum_crl_sequence: crl.sequence,
    authority_url: na.url,
    allow_http: true,
    public_mesh: true,
  }
}

async function recognise(by: TestAuthority, other: TestAuthority, hours: number): Promise<void> {
  accepted(
    await by.as('privileged')('POST', '/admin/recognition-treaties', {
      subject_sovereign_id: other.genesis.network_name,
      subject_public_keys: [other.genesis.network_authority.public_key],
      scope: { allowed_roles: ['role:client', 'role:service'] },
      validity_hours: hours,
    }),
    201,
  )
}

async function attest(na: TestAuthority, subject_id: string): Promise<void> {
  const request = { subject_id, roles: ['role:service'], validity_hours: 600, claims: { public_mesh: true } }
  accepted(await na.as('privileged')('POST', '/admin/attestations', request), 201)
}

async function importFeed(by: TestAuthority, of: TestAuthority): Promise<void> {
  const feed = accepted(await of.request('GET', '/sovereign-revocation-feed'))
  accepted(
    await by.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', {
      feed,
      issuer_public_keys: [of.genesis.network_authority.public_key],
    }),
  )
}
