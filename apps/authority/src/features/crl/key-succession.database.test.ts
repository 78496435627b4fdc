import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  BOUNDARY_POLICY_FORM,
  DAY,
  HOUR,
  boundaryDecisionForm,
  signForm,
  signList,
  trustEvidenceForm,
  writeInstant,
  writeJson,
  writePrivateKeyFile,
} from '@chancery/protocol'
import type { JsonObject, RecordForm } from '@chancery/protocol'
import { requireValues, silentLog } from '@chancery/service-kit'
import {
  ManualClock,
  accepted,
  createTestDatabase,
  enroll,
  entryOf,
  fetchCrl,
  nodeCaller,
  refused,
  startTestAuthority,
  testSeed,
  testSigner,
} from '@chancery/testkit'
import type { NodeCaller, TestAuthority, TestDatabase } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { EXAMPLES } from '../../../../../packages/protocol/src/offline/examples.suite.ts'
import { type Features, closeFeatures, openFeatures } from '../../features.ts'
import { openCore } from '../../startup/open-core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import { DatabaseUnavailableError } from '../../database/errors.ts'
import { cacheDocuments } from '../health/index.ts'
import type { Core } from '../../core.ts'

const clock = new ManualClock()
const root = await testSigner('rs-test', 'root')
const [old, next] = [await testSigner('na-test', 'na'), await testSigner('na-next', 'next')]
let folder: string
let database: TestDatabase
let settings: Record<string, string>
let certificates: string[]
let na: TestAuthority

const nodeAt = async (url: string, name: string): Promise<NodeCaller> =>
  nodeCaller(url, await testSigner('node', name), () => clock.now())
const start = (more: Record<string, string> = {}): Promise<TestAuthority> =>
  startTestAuthority({ clock, database, settings: { NA_HIGH_WATER_FILES: join(folder, 'mark'), ...more } })

/** Settings of a started authority with the new key in place of the former one. */
async function withFeatures<Result>(
  given: AuthoritySettings,
  work: (features: Features, core: Core) => Promise<Result>,
): Promise<Result> {
  const opened = await openCore(given, { log: silentLog, clock, isSucceeding: true })
  const features = openFeatures(opened.core, given)
  try {
    return await work(features, opened.core)
  } finally {
    await closeFeatures(features)
    await opened.close()
  }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chancery-heir-'))
  database = await createTestDatabase()
  na = await start()
  const at = (name: string): string => join(folder, name)
  const now = clock.now()
  const { signatures: _signatures, ...block } = na.genesis
  const window = { valid_from: writeInstant(now - HOUR), valid_to: writeInstant(now + 90n * DAY) }
  const genesis = { ...block, network_authority: { public_key: next.publicKey, ...window }, signatures: [] }
  const former = {
    key_id: 'na-test',
    public_key: old.publicKey,
    valid_from: na.genesis.network_authority.valid_from,
    valid_to: writeInstant(now + DAY),
  }
  const history = {
    network_name: na.genesis.network_name,
    root_public_key: root.publicKey,
    issued_at: writeInstant(now),
    former_keys: [former],
    signatures: [],
  }
  await writeFile(at('genesis.json'), writeJson(await signList(genesis, root)))
  await writeFile(at('history.json'), writeJson(await signList(history as JsonObject & typeof history, root)))
  await writeFile(at('old.key'), writePrivateKeyFile(testSeed('na')), { mode: 0o600 })
  await writeFile(at('next.key'), writePrivateKeyFile(testSeed('next')), { mode: 0o600 })
  settings = {
    GENESIS_FILE: at('genesis.json'),
    NA_PRIVATE_KEY_FILE: at('next.key'),
    NA_KEY_ID: 'na-next',
    NA_KEY_HISTORY_FILE: at('history.json'),
    NA_FORMER_PRIVATE_KEY_FILE: at('old.key'),
  }
  certificates = []
  for (const name of ['heir-a', 'heir-b', 'heir-c'])
    certificates.push((await enroll(na, await nodeAt(na.url, name))).cert_id)
  accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id: certificates[0] ?? '' }))
})
afterAll(async () => {
  await na.stop()
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

describe('a key succession', () => {
  it('is refused by a start without the succession command, and needs the former key', async () => {
    await expect(start(settings)).rejects.toThrow('chancery authority rotate-key')
    const { NA_FORMER_PRIVATE_KEY_FILE: _key, ...without } = settings
    await expect(start(without)).rejects.toThrow('chancery authority rotate-key')
  })

  it('publishes two lists with one sequence, each of one issuer, and stops an instance that still has the old settings', async () => {
    const oldInstance = na
    const target = await settingsOf(settings)
    const before = await fetchCrl(oldInstance.url, old.publicKey)
    const first = JSON.parse(
      await withFeatures(target, ({ crl }, core) =>
        crl.draftFirstList({ issuer: core.signing.signer, presentKeyId: 'na-test' }),
      ),
    ) as {
      issuer: string
      sequence: number
    }
    expect([first.issuer, first.sequence]).toEqual(['na-next', before.sequence])
    const done = await withFeatures(target, ({ crl }) => crl.runKeySuccession())
    expect(done).toMatchObject({ formerKeyId: 'na-test', sequence: before.sequence + 1 })

    refused(
      await oldInstance.as('privileged')('POST', '/admin/revoke', { cert_id: certificates[1] ?? '' }),
      503,
      'service_unavailable',
    )
    await oldInstance.core.keyOwnerCheck.check()
    expect(oldInstance.core.signing.halts.some((halt) => halt.isHalted())).toBe(true)
    await oldInstance.stop()
    await expect(withFeatures(target, ({ crl }) => crl.runKeySuccession())).rejects.toThrow(
      'already belongs to this key',
    )

    const { NA_FORMER_PRIVATE_KEY_FILE: _key, NA_KEY_HISTORY_FILE: _history, ...without } = settings
    await expect(start(without)).rejects.toThrow('NA_FORMER_PRIVATE_KEY_FILE')
    na = await start(settings)
    accepted(await na.request('GET', '/readyz'))
  })

  it('puts a certificate on the list of its own issuer, and every one on the current list', async () => {
    const node = await nodeAt(na.url, 'heir-d')
    const fresh = await enroll(na, node)
    expect(fresh.issued_by).toBe('na-next')
    for (const cert_id of [certificates[1] ?? '', fresh.cert_id])
      accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id }))
    const [current, former] = [
      await fetchCrl(na.url, next.publicKey),
      await fetchCrl(na.url, old.publicKey, '/crl/keys/na-test'),
    ]
    const revoked = [certificates[0], certificates[1], fresh.cert_id]
    expect(current.revoked_certificates.map((entry) => entry.certificate_id)).toEqual(revoked)
    expect(former.revoked_certificates.map((entry) => entry.certificate_id)).toEqual(revoked.slice(0, 2))
    expect([current.sequence, current.issuer]).toEqual([former.sequence, 'na-next'])
    expect(new Set(current.revoked_certificates.map((entry) => entry.issuer))).toEqual(new Set(['na-next']))
    expect(new Set(former.revoked_certificates.map((entry) => entry.issuer))).toEqual(new Set(['na-test']))
    expect(entryOf(former, certificates[2] ?? '')).toBeUndefined()
    expect((await na.request('GET', '/crl/keys/na-next')).text).toBe((await na.request('GET', '/crl')).text)
    refused(await na.request('GET', '/crl/keys/nobody'), 404, 'key_list_not_found')
    expect(accepted(await na.request('GET', '/key-history'))['former_keys']).toHaveLength(1)
  })

  it('serves the list of the former key while the database is unavailable, until that list ends', async () => {
    const { text } = await na.request('GET', '/crl/keys/na-test')
    const away = vi.spyOn(na.core.versions, 'read').mockRejectedValue(new DatabaseUnavailableError('away'))
    try {
      expect((await na.request('GET', '/crl/keys/na-test')).text).toBe(text)
      const over = vi.spyOn(na.core.clock, 'now').mockReturnValue(clock.now() + 24n * HOUR)
      refused(await na.request('GET', '/crl/keys/na-test'), 503, 'service_unavailable')
      over.mockRestore()
    } finally {
      away.mockRestore()
    }
    await cacheDocuments(na.parts)
    expect(na.features.publishedDocuments.has('crl-key-na-test', clock.now())).toBe(true)
  })

  it('still accepts nodes and operators that have the former key only', async () => {
    const node = await nodeAt(na.url, 'heir-c')
    accepted(await node.heartbeat(certificates[2] ?? '', { audience: old.publicKey }))
    accepted(await node.heartbeat(certificates[2] ?? '', { audience: next.publicKey }))
    refused(await node.heartbeat(certificates[2] ?? '', { audience: root.publicKey }), 401, 'node_auth_failed')
  })

  it('keeps the former list fresh, and ends it with the last certificate of the former key', async () => {
    const sequence = (await fetchCrl(na.url, old.publicKey, '/crl/keys/na-test')).sequence
    clock.advance(13 * 3600)
    const later = await fetchCrl(na.url, next.publicKey)
    const former = await fetchCrl(na.url, old.publicKey, '/crl/keys/na-test')
    expect(former.sequence).toBeGreaterThan(sequence)
    expect([former.sequence, former.next_update]).toEqual([later.sequence, later.next_update])
    clock.advance(8 * 24 * 3600)
    await fetchCrl(na.url, next.publicKey)
    refused(await na.request('GET', '/crl/keys/na-test'), 404, 'key_list_not_found')
  })

  it.each([
    ['trust-evidence', '/trust-evidence/verify', 'evidence', 'issued_at', trustEvidenceForm],
    ['boundary-policy', '/boundary-policies/verify', 'policy', 'issued_at', BOUNDARY_POLICY_FORM],
    ['boundary-decision', '/boundary/verify', 'decision', 'decision_made_at', boundaryDecisionForm],
  ] as const)('accepts a %s of the former key only with a date of its time', async (kind, path, name, date, form) => {
    const example = EXAMPLES.find((each) => each.kind === kind)?.record
    const verify = async (at: string): Promise<boolean> => {
      const draft = { ...example, [date]: at, signature: null }
      const until = kind === 'boundary-decision' ? { decision_valid_until: writeInstant(clock.now() + HOUR) } : {}
      const plain = kind === 'trust-evidence' ? { ...draft, signatures: [] } : draft
      const { signature: _none, ...listed } = plain
      const unsigned = kind === 'trust-evidence' ? listed : { ...plain, ...until }
      const record = (await signForm(form as unknown as RecordForm<object>, unsigned, old)) as JsonObject
      const answer = accepted(await na.request('POST', path, { body: { [name]: record } }))
      return (answer['accepted'] ?? answer['valid']) as boolean
    }
    expect(await verify(na.genesis.network_authority.valid_from)).toBe(true)
    // An attacker that gets the former key later must not be able to sign for the current authority.
    expect(await verify(writeInstant(clock.now()))).toBe(false)
  })

  it('refuses requests signed for the former key after it is removed from the settings', async () => {
    const { NA_FORMER_PRIVATE_KEY_FILE: _key, ...without } = settings
    await na.stop()
    na = await start(without)
    const node = await nodeAt(na.url, 'heir-c')
    const beat = (audience: string): ReturnType<NodeCaller['heartbeat']> =>
      node.heartbeat(certificates[2] ?? '', { audience })
    refused(await beat(old.publicKey), 401, 'node_auth_failed')
    // The proof is valid, and the certificate has ended in the meantime.
    refused(await beat(next.publicKey), 403, 'certificate_expired')
  })
})

/** Settings as a start reads them. */
async function settingsOf(more: Record<string, string>): Promise<AuthoritySettings> {
  const { readAuthoritySettings } = await import('../../settings/authority-settings.ts')
  const values = { ...database.settings, NA_HIGH_WATER_FILES: join(folder, 'mark'), NA_CLOCK_CHECK: 'off', ...more }
  const text = Object.entries(values).map(([name, value]) => `${name}=${value}`)
  return requireValues(readAuthoritySettings({ flags: {}, env: {}, envFile: { path: 'test', text: text.join('\n') } }))
}
