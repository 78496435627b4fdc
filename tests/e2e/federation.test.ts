import { createHash } from 'node:crypto'
import { readJson } from '@chancery/protocol'
import type { ConnectomeSummary, JsonObject, RecognitionEdge, TrustPath } from '@chancery/protocol'
import {
  accepted,
  canonicalText,
  createMigratedDatabase,
  createTestNetwork,
  ownKeysOf,
  seedTreaties,
  startAuthorityProcess,
  startTestAuthority,
} from '@chancery/testkit'
import type { AuthorityProcess, ForeignObject, TestResponse, TestDatabase, TestNetwork } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

interface Sovereign {
  readonly name: string
  readonly key: string
  readonly process: AuthorityProcess
  readonly network: TestNetwork
  readonly database: TestDatabase
}

async function startSovereign(name: string, backend: 'sqlite' | 'postgres'): Promise<Sovereign> {
  const [network, database] = [await createTestNetwork(name, ownKeysOf(name)), await createMigratedDatabase(backend)]
  const process = await startAuthorityProcess({ network, settings: database.settings })
  return { name, key: network.authority.publicKey, process, network, database }
}

interface Requester {
  request(method: string, target: string): Promise<TestResponse>
}
const get = async (from: Requester, path: string): Promise<JsonObject> => accepted(await from.request('GET', path))
const post = async ({ process }: Sovereign, path: string, body: JsonObject, status = 200): Promise<JsonObject> =>
  accepted(await process.as('privileged')('POST', path, body), status)
const verify = async ({ process }: Sovereign, path: string, body: JsonObject): Promise<JsonObject> =>
  accepted(await process.request('POST', path, { body }))

interface Row {
  readonly treaty: {
    readonly treaty_id: string
    readonly issuer_sovereign_id: string
    readonly subject_sovereign_id: string
    readonly valid_from: string
    readonly expires_at: string
  }
  readonly status: string
  readonly lifecycle: { readonly state: string; readonly expiry_risk: string }
}
const storedTreaties = async (from: Requester): Promise<readonly Row[]> =>
  (await get(from, '/recognition-treaties'))['recognition_treaties'] as unknown as Row[]
const isInForce = ({ status, lifecycle }: Row): boolean =>
  status === 'active' && ['active', 'expiring_soon'].includes(lifecycle.state)

/** Ordered pairs joined by at most 16 treaties in force: by growing sets, not by the product's search. */
function joinedPairs(rows: readonly Row[]): Set<string> {
  const steps = rows
    .filter(isInForce)
    .map(({ treaty }) => [treaty.issuer_sovereign_id, treaty.subject_sovereign_id] as const)
  const pairs = new Set<string>()
  for (const start of new Set(steps.map(([from]) => from))) {
    let reached = new Set([start])
    for (let hop = 0; hop < 16; hop += 1)
      reached = new Set([...reached, ...steps.filter(([from]) => reached.has(from)).map(([, to]) => to)])
    for (const end of reached) if (end !== start) pairs.add(`${start} → ${end}`)
  }
  return pairs
}

/** Every view says the same about the stored treaties, each derived here once more from the list alone. */
async function expectAgreement(from: Requester): Promise<void> {
  const rows = await storedTreaties(from)
  const [graphAnswer, connectome, atlas, dashboard] = [
    await from.request('GET', '/recognition-graph'),
    await get(from, '/connectome.json'),
    await get(from, '/atlas.json'),
    await get(from, '/dashboard.json'),
  ]
  const graph = accepted(graphAnswer)
  const names = new Set(rows.flatMap(({ treaty }) => [treaty.issuer_sovereign_id, treaty.subject_sovereign_id]))
  const edges = rows.map(({ treaty, status, lifecycle }) => ({
    from: treaty.issuer_sovereign_id,
    to: treaty.subject_sovereign_id,
    treaty_id: treaty.treaty_id,
    status,
    lifecycle_state: lifecycle.state,
    expiry_risk: lifecycle.expiry_risk,
    valid_from: treaty.valid_from,
    expires_at: treaty.expires_at,
  }))
  expect(graph['recognition_edges']).toEqual(edges)
  expect(atlas['recognition_edges']).toEqual(edges)
  expect(graph['active_treaties']).toEqual(rows.filter(isInForce).map(({ treaty }) => treaty))
  const imported = (graph['revoked_trust_material'] as JsonObject[]).filter(
    (each) => each['type'] === 'membership_attestation',
  ).length
  const revoked = rows.filter(({ status }) => status === 'revoked').length
  const summary: ConnectomeSummary & JsonObject = {
    sovereign_count: names.size,
    recognition_edge_count: rows.length,
    active_edge_count: rows.filter(isInForce).length,
    revoked_edge_count: revoked,
    revoked_trust_material_count: revoked + imported,
    imported_revocation_count: imported,
    reported_edge_count: 0,
    partner_count: 0,
  }
  expect(connectome['summary']).toEqual(summary)
  expect(dashboard['connectome_summary']).toEqual(summary)
  const canonical = canonicalText(JSON.parse(graphAnswer.text) as ForeignObject)
  expect(atlas['graph_digest']).toBe(createHash('sha256').update(canonical).digest('hex'))
  await expectPaths(from, [...names, 'NOBODY'], joinedPairs(rows))
}

async function expectPaths(from: Requester, names: readonly string[], pairs: ReadonlySet<string>): Promise<void> {
  for (const start of names) {
    for (const end of names) {
      const found = (await get(from, `/connectome/trust-path?from=${start}&to=${end}`)) as unknown as TrustPath
      expect(found.trusted, `${start} → ${end}`).toBe(pairs.has(`${start} → ${end}`))
      const walked = found.trusted ? [found.path[0]?.from, ...found.path.map((edge: RecognitionEdge) => edge.to)] : []
      if (found.trusted) expect([walked[0], walked.at(-1), walked.length - 1]).toEqual([start, end, found.hop_count])
    }
  }
}

interface Previewed {
  readonly paths_lost: {
    readonly count: number
    readonly complete: boolean
    readonly sample: readonly { readonly from: string; readonly to: string }[]
  }
}
const previewedPairs = ({ paths_lost }: Previewed): string[] =>
  paths_lost.sample.map(({ from, to }) => `${from} → ${to}`).sort()

describe('three authorities: A recognises B, B recognises C', () => {
  let [a, b, c]: (Sovereign | undefined)[] = []
  const all = (): [Sovereign, Sovereign, Sovereign] => {
    if (a === undefined || b === undefined || c === undefined) throw new Error('they did not start')
    return [a, b, c]
  }
  beforeAll(async () => {
    ;[a, b, c] = await Promise.all([
      startSovereign('A-NET', 'sqlite'),
      startSovereign('B-NET', 'postgres'),
      startSovereign('C-NET', 'sqlite'),
    ])
  }, 60_000)
  afterAll(async () => {
    for (const sovereign of [a, b, c]) {
      await sovereign?.process.stop()
      await sovereign?.database.drop()
      await sovereign?.network.remove()
    }
  })

  /** As a federation begins: the key is read from the other's own document. */
  async function recognise(issuer: Sovereign, subject: Sovereign): Promise<JsonObject> {
    const { sovereign_id, network_authority } = await get(subject.process, '/sovereign.json')
    const { public_key } = network_authority as { public_key: string }
    expect(public_key).toBe(subject.key)
    const scope = { allowed_roles: ['role:client'] }
    return post(
      issuer,
      '/admin/recognition-treaties',
      { subject_sovereign_id: sovereign_id ?? '', subject_public_keys: [public_key], scope },
      201,
    )
  }

  it('agree in all their views, accept each other’s members, and lose exactly the foreseen paths', async () => {
    const [sa, sb, sc] = all()
    for (const { process } of all()) await expectAgreement(process)
    const [ab, bc] = [await recognise(sa, sb), await recognise(sb, sc)]
    for (const { process } of all()) await expectAgreement(process)

    // Each view has only the treaties that its authority signed: a treaty is not transitive, and none is imported.
    const path = async (of: Sovereign, from: string, to: string): Promise<unknown> =>
      (await get(of.process, `/connectome/trust-path?from=${from}&to=${to}`))['trusted']
    expect([
      await path(sa, 'A-NET', 'B-NET'),
      await path(sb, 'B-NET', 'C-NET'),
      await path(sa, 'A-NET', 'C-NET'),
      await path(sc, 'B-NET', 'C-NET'),
    ]).toEqual([true, true, false, false])

    // A member of B is accepted by A through A's treaty; one of C is not, whatever B signed for C.
    const ofB = await post(sb, '/admin/attestations', { subject_id: 'zoë@b', roles: ['role:client'] }, 201)
    const ofC = await post(sc, '/admin/attestations', { subject_id: 'kim@c', roles: ['role:client'] }, 201)
    const verifyWithTreaty = (attestation: JsonObject, treaty: JsonObject): Promise<JsonObject> =>
      verify(sa, '/attestations/verify-with-treaty', { attestation, treaty })
    expect(await verifyWithTreaty(ofB, ab)).toMatchObject({ accepted: true, trust_basis: 'this_authority' })
    expect(await verifyWithTreaty(ofC, ab)).toMatchObject({ accepted: false, reason: 'treaty_wrong_subject' })
    expect(await verifyWithTreaty(ofC, bc)).toMatchObject({ accepted: false, reason: 'treaty_issuer_not_recognized' })
    expect(await verify(sc, '/recognition-treaties/verify', { treaty: bc })).toMatchObject({
      accepted: false,
      reason: 'issuer_not_recognized',
    })

    // B withdraws its member; A learns of it by B's own feed.
    await post(sb, `/admin/attestations/${String(ofB['attestation_id'])}/revoke`, { reason: 'left' })
    expect(await verifyWithTreaty(ofB, ab)).toMatchObject({ accepted: true })
    const feed = readJson((await sb.process.request('GET', '/sovereign-revocation-feed')).text)
    expect(await post(sa, '/admin/sovereign-revocation-feeds/import', { feed })).toMatchObject({
      revoked_count: 1,
      trust_basis: 'recognized_issuer_keys',
    })
    expect(await verifyWithTreaty(ofB, ab)).toMatchObject({ accepted: false, reason: 'attestation_locally_revoked' })
    const { revocation_blast_radius } = await get(sa.process, '/connectome.json')
    expect(revocation_blast_radius).toMatchObject([
      { id: ofB['attestation_id'], issuer_sovereign_id: 'B-NET', affected_accepting_sovereigns: ['A-NET'] },
    ])
    for (const { process } of all()) await expectAgreement(process)

    // Foreseen first, exactly those afterwards.
    const before = joinedPairs(await storedTreaties(sa.process))
    const revoke = `/admin/recognition-treaties/${String(ab['treaty_id'])}/revoke`
    const foreseen = (await post(sa, revoke, { dry_run: true })) as unknown as Previewed
    expect(foreseen).toMatchObject({ paths_lost: { complete: true } })
    expect(joinedPairs(await storedTreaties(sa.process))).toEqual(before)
    await expectAgreement(sa.process)
    await post(sa, revoke, { reason: 'relationship_ended' })
    const after = joinedPairs(await storedTreaties(sa.process))
    const gone = [...before].filter((pair) => !after.has(pair)).sort()
    expect(previewedPairs(foreseen)).toEqual(gone)
    expect(gone).toEqual(['A-NET → B-NET'])
    expect(await get(sa.process, '/connectome/trust-path?from=A-NET&to=B-NET')).toMatchObject({
      trusted: false,
      reason: 'direct_treaty_revoked',
    })
    expect(await verifyWithTreaty(ofC, bc)).toMatchObject({ accepted: false, reason: 'treaty_issuer_not_recognized' })
    for (const { process } of all()) await expectAgreement(process)
  })
})

describe('one graph of many sovereigns', () => {
  it('loses exactly the pairs that a dry run foresees, treaty after treaty', async () => {
    const na = await startTestAuthority({ backend: 'sqlite' })
    try {
      // A recognises B, B recognises C, and around them what makes detours: all in one store.
      const pairs = ['A B', 'B C', 'Z A', 'C D', 'D B', 'A E', 'E D', 'F A', 'F B', 'A B'].map((pair) =>
        pair.split(' '),
      )
      await seedTreaties(
        na.parts,
        pairs.map(([from = '', to = ''], i) => ({ treaty_id: `t${i}`, from, to })),
      )
      await expectAgreement(na)
      for (const treaty_id of ['t9', 't0', 't1', 't6', 't2', 't5']) {
        const before = joinedPairs(await storedTreaties(na))
        const path = `/admin/recognition-treaties/${treaty_id}/revoke`
        const foreseen = accepted(await na.as('privileged')('POST', path, { dry_run: true })) as unknown as Previewed
        expect(joinedPairs(await storedTreaties(na))).toEqual(before)
        accepted(await na.as('privileged')('POST', path, {}))
        const after = joinedPairs(await storedTreaties(na))
        const gone = [...before].filter((pair) => !after.has(pair)).sort()
        expect(foreseen.paths_lost.count, treaty_id).toBe(gone.length)
        expect(previewedPairs(foreseen), treaty_id).toEqual(gone)
        await expectAgreement(na)
      }
    } finally {
      await na.stop()
    }
  })
})
