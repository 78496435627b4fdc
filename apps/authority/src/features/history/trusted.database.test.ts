// oxlint-disable max-lines -- every kind of record, from its beginning to its end
import {
  HOUR,
  SECOND,
  SUBJECT_KINDS,
  verifyPastTrust,
  readInstant,
  readJson,
  readTrustHistoryPage,
  readSubject,
  writeInstant,
} from '@chancery/protocol'
import type { HistoryPage, Instant, JsonObject, PastVerdict, TrustSubject } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  enroll,
  foreignAttestation,
  foreignFeed,
  foreignSovereign,
  newNodeCaller,
  refused,
  startTestAuthority,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, TestAuthority, TestResponse } from '@chancery/testkit'
import { readTarget } from '@chancery/service-kit'
import type { KyselyPlugin } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Database } from '../../database/database.ts'
import { rowsOf } from '../../testing/rows.suite.ts'
import { archive } from './archive.ts'

const clock = new ManualClock('2030-01-02T03:00:00Z')
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  accepted(await na.request('GET', '/crl'))
})
afterAll(() => na.stop())

const ask = (query: Readonly<Record<string, string>>): Promise<TestResponse> =>
  na.as('standard')('GET', `/admin/history/trusted?${new URLSearchParams(query).toString()}`)

const post = async (target: string, body: JsonObject, status = 201): Promise<JsonObject> =>
  accepted(await na.as('privileged')('POST', target, body), status)

/** The state that the authority says, and the one that its signed records prove. */
async function states(subject: TrustSubject, at: Instant): Promise<readonly [state: unknown, verdict: PastVerdict]> {
  const issuer = subject.given?.issuer
  const answer = accepted(
    await ask({
      id: subject.id,
      kind: subject.kind,
      at: writeInstant(at),
      ...(issuer === undefined ? {} : { issuer_sovereign_id: issuer }),
    }),
  )
  const page = readTrustHistoryPage(answer['page'] ?? null)
  return [answer['state'], await verifyPastTrust(subject, [{ ...page, keys: { genesis: na.genesis } }], at)]
}

async function stateAt(subject: TrustSubject, at: Instant): Promise<string> {
  const [said, verdict] = await states(subject, at)
  // Without the record of a partner the authority cannot say more than this.
  if (subject.given === undefined) expect(said).toBe(verdict.state)
  return `${verdict.state} ${verdict.reason}`
}

/** Changes of the last seconds are not stated. */
const settle = (): void => {
  clock.advance(3600)
}
const MICRO = 1n

describe('GET /admin/history/trusted', () => {
  it('200: a certificate before, at and after its beginning, revocation and end', async () => {
    const certificate = await enroll(na, await newNodeCaller(na.url, 'past', clock), {}, { validity_hours: 24 })
    const subject = { kind: 'certificate', id: certificate.cert_id } as const
    const [issued, ends] = [readInstant(certificate.issued_at) ?? 0n, readInstant(certificate.expires_at) ?? 0n]
    clock.advance(7200)
    const revoked = clock.now()
    await post('/admin/revoke', { cert_id: certificate.cert_id, reason: 'key_compromise' }, 200)
    settle()
    expect(await stateAt(subject, issued - MICRO)).toBe('not_trusted not_yet_valid')
    expect(await stateAt(subject, issued)).toBe('trusted in_force')
    expect(await stateAt(subject, revoked - MICRO)).toBe('trusted in_force')
    expect(await stateAt(subject, revoked)).toBe('not_trusted revoked')
    clock.advance(3 * 86_400)
    expect(await stateAt(subject, ends - MICRO)).toBe('not_trusted revoked')
    expect(await stateAt(subject, ends)).toBe('not_trusted expired')
    const [, verdict] = await states(subject, revoked)
    expect(verdict).toMatchObject({
      ended_at: writeInstant(revoked),
      end_reason: 'key_compromise',
      source: { kind: 'list', sequence: 1 },
    })
    expect(verdict.proof.map(({ kind }) => kind)).toEqual(['certificate', 'history', 'list'])
  })

  it('200: a renewed certificate until the authority refuses it', async () => {
    const node = await newNodeCaller(na.url, 'renewing', clock)
    const first = await enroll(na, node, {}, { validity_hours: 24 })
    clock.advance(60)
    const renewed = clock.now()
    const second = accepted(await node.renew(first.cert_id), 201)
    settle()
    const subject = { kind: 'certificate', id: first.cert_id } as const
    const superseded = renewed + 900n * SECOND
    expect(await stateAt(subject, superseded - MICRO)).toBe('trusted in_force')
    expect(await stateAt(subject, superseded)).toBe('not_trusted superseded')
    expect(await stateAt({ kind: 'certificate', id: String(second['cert_id']) }, superseded)).toBe('trusted in_force')
  })

  it('200: attestations and treaties, each until its revocation', async () => {
    const member = await post('/admin/attestations', { subject_id: 'agent-1', roles: ['role:client'] })
    const partner = foreignSovereign('PAST-NET')
    const treaty = await post('/admin/recognition-treaties', {
      subject_sovereign_id: 'PAST-NET',
      subject_public_keys: [partner.publicKey],
      scope: { allowed_roles: ['role:client'] },
    })
    clock.advance(3600)
    const revoked = clock.now()
    await post(`/admin/attestations/${String(member['attestation_id'])}/revoke`, {}, 200)
    await post(`/admin/recognition-treaties/${String(treaty['treaty_id'])}/revoke`, { reason: 'over' }, 200)
    settle()
    for (const subject of [
      { kind: 'attestation', id: String(member['attestation_id']) },
      { kind: 'treaty', id: String(treaty['treaty_id']) },
    ] as const) {
      expect(await stateAt(subject, revoked - MICRO)).toBe('trusted in_force')
      expect(await stateAt(subject, revoked)).toBe('not_trusted revoked')
    }
  })

  it("200: a partner's attestation under a treaty, until its feed is imported or the treaty ends", async () => {
    const partner = foreignSovereign('BETA-NET')
    const before = clock.now()
    const given = (changes: ForeignObject, by = partner) =>
      readSubject(
        'attestation',
        readJson(wireText(foreignAttestation(by, before, { ...validFrom(before), ...changes }))),
      )
    const subject = given({ attestation_id: 'beta-1' })
    clock.advance(60)
    const treated = clock.now()
    const { treaty_id } = await post('/admin/recognition-treaties', {
      subject_sovereign_id: 'BETA-NET',
      subject_public_keys: [partner.publicKey],
      scope: { allowed_roles: ['role:client'] },
    })
    clock.advance(3600)
    const imported = clock.now()
    const feed = readJson(wireText(foreignFeed(partner, 1, ['beta-1']))) as JsonObject
    await post('/admin/sovereign-revocation-feeds/import', { feed }, 200)
    clock.advance(3600)
    const ended = clock.now()
    await post(`/admin/recognition-treaties/${String(treaty_id)}/revoke`, { reason: 'over' }, 200)
    settle()
    const asked = (record = subject): TrustSubject => ({ kind: 'attestation', id: record.id, given: record })
    expect(await stateAt(asked(), treated - MICRO)).toBe('not_trusted no_treaty')
    expect(await stateAt(asked(), treated)).toBe('trusted in_force')
    expect(await stateAt(asked(), imported - MICRO)).toBe('trusted in_force')
    expect(await stateAt(asked(), imported)).toBe('not_trusted revoked')
    const other = given({ attestation_id: 'beta-2' })
    expect(await stateAt(asked(other), ended - MICRO)).toBe('trusted in_force')
    expect(await stateAt(asked(other), ended)).toBe('not_trusted no_treaty')
    const operator = given({ attestation_id: 'beta-3', roles: ['role:operator'] })
    expect(await stateAt(asked(operator), treated)).toBe('not_trusted role_not_allowed')
    const forged = given({ attestation_id: 'beta-2' }, foreignSovereign('BETA-NET', 'another key'))
    expect(await stateAt(asked(forged), treated)).toBe('not_trusted invalid_signature')
    const [, verdict] = await states(asked(), treated)
    expect([verdict.treaty_id, verdict.proof.map(({ kind }) => kind)]).toEqual([
      treaty_id,
      ['attestation', 'treaty', 'history'],
    ])
  })

  it("200: a partner's attestation until a recognition policy names it, or the authority issues its id", async () => {
    const partner = foreignSovereign('LOCAL-NET')
    await post('/admin/recognition-treaties', {
      subject_sovereign_id: 'LOCAL-NET',
      subject_public_keys: [partner.publicKey],
      scope: { allowed_roles: ['role:client'] },
    })
    clock.advance(60)
    const publish = (revoked_attestation_ids: readonly string[]): Promise<JsonObject> =>
      post(
        '/admin/recognition-policy',
        { recognition_policy: { local_sovereign_id: na.genesis.network_name, revoked_attestation_ids } },
        200,
      )
    const issued = clock.now()
    clock.advance(60)
    const named = clock.now()
    await publish(['other', 'local "1"'])
    clock.advance(60)
    const { attestation_id: twin } = await post('/admin/attestations', { subject_id: 'twin', roles: ['role:client'] })
    const twinAt = clock.now()
    clock.advance(60)
    // The first policy counts, although this one no longer names the id.
    await publish(['other'])
    settle()
    const asked = (attestation_id: string): TrustSubject => {
      const changes = { ...validFrom(issued), attestation_id }
      const given = readSubject('attestation', readJson(wireText(foreignAttestation(partner, issued, changes))))
      return { kind: 'attestation', id: attestation_id, given }
    }
    const pages = await archivePages()
    for (const [id, at, reason] of [
      ['local "1"', named, 'recognition_policy'],
      [String(twin), twinAt, 'own_attestation_id'],
    ] as const) {
      expect(await stateAt(asked(id), at - MICRO)).toBe('trusted in_force')
      const [, verdict] = await states(asked(id), at)
      expect(verdict).toMatchObject({ state: 'not_trusted', ended_at: writeInstant(at), end_reason: reason })
      expect(await verifyPastTrust(asked(id), pages, at - MICRO)).toMatchObject({ state: 'trusted' })
      expect(await verifyPastTrust(asked(id), pages, at)).toMatchObject({
        state: 'not_trusted',
        ended_at: writeInstant(at),
        end_reason: reason,
      })
    }
    expect(await stateAt(asked('local-2'), twinAt)).toBe('trusted in_force')
    expect(await verifyPastTrust(asked('local-2'), pages, twinAt)).toMatchObject({ state: 'trusted' })
  })

  it('200: unknown for what is not stored, and for the last seconds', async () => {
    const past = clock.now() - HOUR
    expect(await stateAt({ kind: 'certificate', id: 'never-issued' }, past)).toBe('unknown not_stored')
    const { attestation_id } = await post('/admin/attestations', { subject_id: 'agent-2', roles: ['role:client'] })
    const subject = { kind: 'attestation', id: String(attestation_id) } as const
    const issued = clock.now()
    clock.advance(na.core.database.engine === 'sqlite' ? 10 : 120)
    expect(await stateAt(subject, issued)).toBe('trusted in_force')
    expect(await stateAt(subject, issued + MICRO)).toBe('unknown too_recent')
    expect(await stateAt(subject, issued - MICRO)).toBe('not_trusted not_yet_valid')
  })

  it('200: without a kind, the kind of the stored record', async () => {
    const { treaty_id } = await post('/admin/recognition-treaties', {
      subject_sovereign_id: 'ANY-NET',
      subject_public_keys: [foreignSovereign('ANY-NET').publicKey],
    })
    const at = writeInstant(clock.now())
    settle()
    expect(accepted(await ask({ id: String(treaty_id), at }))).toMatchObject({ kind: 'treaty', state: 'trusted' })
  })

  it('400: a future time, a missing id, unknown kinds and parameters', async () => {
    const at = writeInstant(clock.now())
    const future = writeInstant(clock.now() + SECOND)
    expect(refused(await ask({ id: 'a', at: future }), 400, 'invalid_timestamps')['details']).toMatchObject({
      field: 'at',
    })
    refused(await ask({ id: 'a' }), 400, 'invalid_timestamps')
    refused(await ask({ id: 'a', at: '1999-12-31T23:59:59Z' }), 400, 'invalid_timestamps')
    refused(await ask({ at }), 400, 'invalid_input')
    refused(await ask({ id: 'a', at, kind: 'policy' }), 400, 'invalid_input')
    refused(await ask({ id: 'a', at, when: 'x' }), 400, 'unexpected_field')
  })

  it('401: without a signature', async () => {
    refused(await na.request('GET', '/admin/history/trusted?id=a'), 401, 'admin_auth_failed')
    refused(await na.request('GET', '/admin/history/archive?kind=treaty'), 401, 'admin_auth_failed')
  })
})

/** All pages of an archive, with one record on each. */
async function archivePages(): Promise<readonly HistoryPage[]> {
  const pages: HistoryPage[] = []
  for (const kind of SUBJECT_KINDS) {
    let cursor: unknown = null
    do {
      const query = `kind=${kind}&limit=1${cursor === null ? '' : `&cursor=${String(cursor)}`}`
      const answer = accepted(await na.as('standard')('GET', `/admin/history/archive?${query}`))
      pages.push({ ...readTrustHistoryPage(answer['page'] ?? null), keys: { genesis: na.genesis } })
      cursor = answer['next_cursor'] ?? null
    } while (cursor !== null)
  }
  return pages
}

describe('GET /admin/history/archive', () => {
  it('200: pages follow each other, and together answer every question', async () => {
    const ids: string[] = []
    for (let index = 0; index < 5; index += 1) {
      const { attestation_id } = await post('/admin/attestations', { subject_id: `a-${index}`, roles: ['role:client'] })
      ids.push(String(attestation_id))
    }
    const at = clock.now()
    settle()
    const pages = []
    let cursor: unknown = null
    do {
      const query = `kind=attestation&limit=2${cursor === null ? '' : `&cursor=${String(cursor)}`}`
      const answer = accepted(await na.as('standard')('GET', `/admin/history/archive?${query}`))
      pages.push({ ...readTrustHistoryPage(answer['page'] ?? null), keys: { genesis: na.genesis } })
      cursor = answer['next_cursor'] ?? null
    } while (cursor !== null)
    expect(pages.length).toBeGreaterThan(2)
    for (const id of ids)
      expect(await verifyPastTrust({ kind: 'attestation', id }, pages, at)).toMatchObject({ state: 'trusted' })
    expect(await verifyPastTrust({ kind: 'attestation', id: 'no-such-id' }, pages, at)).toMatchObject({
      state: 'unknown',
    })
  })

  it('200: as many statements for many imported revocations as for few', async () => {
    let statements = 0
    const counting: KyselyPlugin = {
      transformQuery: ({ node }) => {
        statements += 1
        return node
      },
      transformResult: ({ result }) => Promise.resolve(result),
    }
    const read = rowsOf(na.core.database).withPlugin(counting)
    const database = { engine: na.core.database.engine, read } as unknown as Database
    const call = { query: readTarget('/x?kind=imported_attestation').query } as OperatorCall
    const readPage = async (): Promise<number> => {
      statements = 0
      await archive(call, { ...na.core, database })
      return statements
    }
    const partner = foreignSovereign('COUNT-NET')
    await post('/admin/recognition-treaties', {
      subject_sovereign_id: 'COUNT-NET',
      subject_public_keys: [partner.publicKey],
    })
    const importAll = async (sequence: number, ids: readonly string[]): Promise<unknown> => {
      const feed = readJson(wireText(foreignFeed(partner, sequence, ids))) as JsonObject
      return post('/admin/sovereign-revocation-feeds/import', { feed }, 200)
    }
    await importAll(1, ['count-1'])
    const few = await readPage()
    await importAll(2, ['count-1', 'count-2', 'count-3', 'count-4'])
    expect(await readPage()).toBe(few)
  })

  it('400: kinds, pages and parameters', async () => {
    const get = (query: string): Promise<TestResponse> => na.as('standard')('GET', `/admin/history/archive?${query}`)
    refused(await get(''), 400, 'invalid_input')
    refused(await get('kind=treaty&limit=201'), 400, 'invalid_page')
    refused(await get('kind=treaty&cursor=x'), 400, 'invalid_page')
    const forged = Buffer.from('1|{"id":1}').toString('base64url')
    refused(await get(`kind=treaty&cursor=${forged}`), 400, 'invalid_page')
    refused(await get('kind=treaty&id=x'), 400, 'unexpected_field')
  })
})

function validFrom(at: Instant): ForeignObject {
  const [from, until] = [writeInstant(at), writeInstant(at + 24n * HOUR)]
  return { issued_at: from, valid_from: from, expires_at: until }
}
