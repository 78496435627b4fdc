// oxlint-disable max-lines -- the same fault in each kind of signed record
import { type JsonObject, readJson, writeJson } from '@chancery/protocol'
import {
  accepted,
  createMigratedDatabase,
  currentBackend,
  enroll,
  entryOf,
  fetchCrl,
  foreignFeed,
  foreignSovereign,
  foreignTreaty,
  nodeCaller,
  refused,
  startTestAuthority,
  testSigner,
  wireText,
} from '@chancery/testkit'
import type { NodeCaller, TestAuthority, TestDatabase } from '@chancery/testkit'
import { systemClock } from '@chancery/service-kit'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isOwnAttestationRevoked } from '../features/attestations/queries.ts'
import { refreshList } from '../features/crl/serve-list.ts'
import { openTestStore } from '../features/evidence/evidence.suite.ts'
import { checkRecords } from '../features/health/index.ts'
import { recoverState } from '../recovery/recover.ts'
import { isRevokedInAudit } from '../audit/revoked-treaties.ts'
import { EntriesCache } from '../features/crl/entries-cache.ts'
import { ListBuilder } from '../features/crl/list-builder.ts'
import { rowsOf } from '../testing/rows.suite.ts'

let database: TestDatabase
let na: TestAuthority

beforeEach(async () => {
  database = await createMigratedDatabase()
  na = await startTestAuthority({ database })
})
afterEach(async () => {
  await na.stop()
  await database.drop()
})

/** The same database in a new process, without a cache. */
async function restart(): Promise<void> {
  await na.stop()
  na = await startTestAuthority({ database })
}

const readyz = async (): Promise<JsonObject> => {
  const answer = await na.request('GET', '/readyz')
  return answer.status === 200 ? accepted(answer) : (refused(answer, 503, 'service_not_ready')['details'] as JsonObject)
}
const metric = async (kind: string): Promise<string | undefined> =>
  (await na.request('GET', '/metrics')).text.match(`chancery_record_faults{kind="${kind}"} (\\d)`)?.[1]

describe('the revocation list', () => {
  let counter = 0
  let lost: string
  let other: string
  const newNode = async (): Promise<NodeCaller> => {
    counter += 1
    return nodeCaller(na.url, await testSigner('node', `faults-${counter}`), () => systemClock.now())
  }
  const revoke = (cert_id: string, reason = 'key_compromise') =>
    na.as('privileged')('POST', '/admin/revoke', { cert_id, reason })
  const list = () => fetchCrl(na.url, na.genesis.network_authority.public_key)
  const rows = () => rowsOf(na.core.database)

  beforeEach(async () => {
    lost = (await enroll(na, await newNode())).cert_id
    other = (await enroll(na, await newNode())).cert_id
    accepted(await revoke(lost))
  })

  const EDITS: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['its row is deleted', () => rows().deleteFrom('crl_entries').where('cert_id', '=', lost).execute()],
    [
      'its row says that its certificate has ended',
      () => rows().updateTable('crl_entries').set({ expires_at: '2020-01-01T00:00:00.000000Z' }).execute(),
    ],
    [
      'its certificate and its row say that it has ended',
      async () => {
        const expires_at = '2020-01-01T00:00:00.000000Z'
        await rows().updateTable('crl_entries').set({ expires_at }).execute()
        await rows().updateTable('issued_certs').set({ expires_at }).where('cert_id', '=', lost).execute()
      },
    ],
    [
      'its row gives a lesser reason',
      async () => {
        const { entry_json } = await rows().selectFrom('crl_entries').select('entry_json').executeTakeFirstOrThrow()
        const edited = entry_json.replace('key_compromise', 'unspecified')
        await rows().updateTable('crl_entries').set({ entry_json: edited }).execute()
      },
    ],
    [
      'the last list itself was edited to be without it',
      async () => {
        const { crl_json } = await rows()
          .selectFrom('crl_versions')
          .select('crl_json')
          .orderBy('sequence', 'desc')
          .executeTakeFirstOrThrow()
        const edited = crl_json.replace(/"revoked_certificates":\[[^\]]*\]/, '"revoked_certificates":[]')
        await rows().updateTable('crl_versions').set({ crl_json: edited }).where('crl_json', '=', crl_json).execute()
        await rows().deleteFrom('crl_entries').execute()
      },
    ],
  ]

  it.each(EDITS)('is not signed without an unexpired entry of the last one when %s', async (_what, edit) => {
    await edit()
    await restart()
    const refusal = refused(await revoke(other), 503, 'service_unavailable')
    expect(refusal['details']).toEqual({ reason: 'crl_incomplete' })
    const state = na.core.database.read.selectFrom('issued_certs').select('status').where('cert_id', '=', other)
    expect((await state.executeTakeFirst())?.status).not.toBe('revoked')
    expect(await readyz()).toMatchObject({ signing_halted: ['crl_incomplete'] })
    expect(await metric('crl_incomplete')).toBe('1')
  })

  it('names a certificate whose row was edited back to issued, and is complete when that is revoked again', async () => {
    const node = await newNode()
    const [first, second] = [(await enroll(na, node)).cert_id, (await enroll(na, node)).cert_id]
    const only = { cert_id: first, reason: 'cessation_of_operation', only_this: true }
    accepted(await na.as('privileged')('POST', '/admin/revoke', only))
    const editBack = () =>
      rows()
        .updateTable('issued_certs')
        .set({ status: 'issued', revoked_at: null, revocation_reason: null })
        .where('node_public_key', '=', node.key)
        .execute()
    await editBack()
    refused(await node.renew(first), 403, 'certificate_revoked')
    const third = String(accepted(await node.renew(second), 201)['cert_id'])
    const before = entryOf(await list(), first)
    accepted(await revoke(first, 'unspecified'))
    expect(entryOf(await list(), first)).toEqual(before)
    await editBack()
    accepted(await revoke(first))
    expect(entryOf(await list(), first)).toEqual({ ...before, reason: 'key_compromise' })
    expect(entryOf(await list(), third)).toMatchObject({ reason: 'key_compromise' })
    await editBack()
    await rows().deleteFrom('crl_entries').where('cert_id', '=', third).execute()
    refused(await node.renew(third), 403, 'node_key_compromised')
  })

  it('is signed again when the row is restored', async () => {
    const row = await rows().selectFrom('crl_entries').selectAll().executeTakeFirstOrThrow()
    await rows().deleteFrom('crl_entries').execute()
    await restart()
    refused(await revoke(other), 503, 'service_unavailable')
    await rows().insertInto('crl_entries').values(row).execute()
    await refreshList({ ...na.parts, entries: new EntriesCache(), builder: new ListBuilder() })
    expect((await readyz())['status']).toBe('ready')
    expect(await metric('crl_incomplete')).toBe('0')
    accepted(await revoke(other))
    const names = (await list()).revoked_certificates.map((entry) => entry.certificate_id)
    expect(names).toEqual([lost, other])
  })

  it.each(EDITS.slice(0, 4))('gets the entry back by a recovery when %s', async (_what, edit) => {
    const before = entryOf(await list(), lost)
    await edit()
    await restart()
    refused(await revoke(other), 503, 'service_unavailable')
    expect(await recoverState(na.parts)).toMatchObject({ revocations: 1, agents: 0 })
    await refreshList({ ...na.parts, entries: new EntriesCache(), builder: new ListBuilder() })
    accepted(await revoke(other))
    expect(entryOf(await list(), lost)).toEqual(before)
  })
})

describe('the own feed', () => {
  const attest = async (): Promise<string> => {
    const body = { subject_id: 'someone', roles: ['role:client'] }
    return String(accepted(await na.as('privileged')('POST', '/admin/attestations', body), 201)['attestation_id'])
  }
  const revoke = (id: string) => na.as('privileged')('POST', `/admin/attestations/${id}/revoke`, { reason: 'left' })

  it('names revoked attestations, whatever their row contains', async () => {
    const [first, second] = [await attest(), await attest()]
    accepted(await revoke(first))
    const active = { status: 'active', revoked_at: null, revocation_reason: null }
    await rowsOf(na.core.database).updateTable('membership_attestations').set(active).execute()
    const ids = [first, second]
    const db = na.core.database.read
    expect(await Promise.all(ids.map((id) => isOwnAttestationRevoked(db, id)))).toEqual([true, false])
    const states = await Promise.all(ids.map((id) => na.features.attestations.reader.find(id)))
    expect(states.map((each) => each?.stored.isRevoked)).toEqual([true, false])
  })

  it('is not signed without an id of the last one', async () => {
    const [first, second] = [await attest(), await attest()]
    accepted(await revoke(first))
    const db = rowsOf(na.core.database)
    const active = { status: 'active', revoked_at: null, revocation_reason: null }
    await db.updateTable('membership_attestations').set(active).execute()
    const refusal = refused(await revoke(second), 503, 'service_unavailable')
    expect(refusal['details']).toEqual({ reason: 'feed_incomplete' })
    expect(await readyz()).toMatchObject({ signing_halted: ['feed_incomplete'] })
    expect(await recoverState(na.parts)).toMatchObject({ revocations: 1 })
    await checkRecords(na.parts)
    accepted(await revoke(second))
    const { revoked_attestation_ids } = accepted(await na.request('GET', '/sovereign-revocation-feed'))
    expect(revoked_attestation_ids).toEqual([first, second].sort())
  })
})

describe('a stored treaty', () => {
  const [partner, thief, third] = ['bolt-net', 'thief', 'third-net'].map((name) => foreignSovereign(name))
  if (partner === undefined || thief === undefined || third === undefined) throw new Error('no sovereigns')
  const forger = foreignSovereign('bolt-net', 'thief')
  const request = {
    subject_sovereign_id: partner.sovereign_id,
    subject_public_keys: [partner.publicKey],
    scope: { allowed_roles: ['role:client'] },
  }
  let stored: JsonObject
  const path = async (to: string): Promise<JsonObject> =>
    accepted(await na.request('GET', `/connectome/trust-path?from=TEST-NET&to=${to}`))
  const forge = async (changes: JsonObject, columns: { subject_sovereign_id?: string } = {}): Promise<void> => {
    await rowsOf(na.core.database)
      .updateTable('recognition_treaties')
      .set({ treaty_json: writeJson({ ...stored, ...changes }), ...columns })
      .where('treaty_id', '=', String(stored['treaty_id']))
      .execute()
  }
  const importFeed = (feed: JsonObject) =>
    na.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', { feed })

  beforeEach(async () => {
    stored = accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', request), 201)
  })

  it.each<[string, JsonObject]>([
    ['without signatures', { signatures: [] }],
    ['with the signature of another text', {}],
  ])('%s pins no keys', async (_what, changes) => {
    await forge({ subject_public_keys: [thief.publicKey], ...changes })
    const feed = readJson(wireText(foreignFeed(forger, 1, []))) as JsonObject
    expect((await importFeed(feed)).status).toBe(400)
    const treaty = readJson(wireText(foreignTreaty(forger, third, systemClock.now()))) as JsonObject
    const verdict = accepted(await na.request('POST', '/recognition-treaties/verify', { body: { treaty } }))
    expect(verdict['accepted']).toBe(false)
    expect((await path('bolt-net'))['trusted']).toBe(false)
  })

  it('whose row names another subject than its text recognises no sovereign', async () => {
    expect((await path('bolt-net'))['trusted']).toBe(true)
    await forge({}, { subject_sovereign_id: 'evil-net' })
    await rowsOf(na.core.database)
      .updateTable('heads')
      .set((eb) => ({ version: eb('version', '+', 1) }))
      .where('name', '=', 'treaties')
      .execute()
    expect((await path('evil-net'))['trusted']).toBe(false)
  })

  it('that is forged hides no other that is signed', async () => {
    const second = accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', request), 201)
    await forge({ signatures: [] })
    const found = await path('bolt-net')
    expect(found).toMatchObject({ trusted: true, path: [{ treaty_id: second['treaty_id'] }] })
  })

  it('that does not verify is reported, stops new ones, and is cleared when it is revoked', async () => {
    await forge({ signatures: [] })
    await checkRecords(na.parts)
    expect(await readyz()).toMatchObject({ status: 'ready', warnings: ['treaty_unverified'] })
    expect(await metric('treaty_unverified')).toBe('1')
    const issue = () => na.as('privileged')('POST', '/admin/recognition-treaties', request)
    expect(refused(await issue(), 503, 'service_unavailable')['details']).toEqual({ reason: 'treaty_unverified' })
    const id = String(stored['treaty_id'])
    accepted(await na.as('privileged')('POST', `/admin/recognition-treaties/${id}/revoke`, { reason: 'forged' }))
    await checkRecords(na.parts)
    expect('warnings' in (await readyz())).toBe(false)
    accepted(await issue(), 201)
  })
})

describe('a revoked treaty', () => {
  const partner = foreignSovereign('bolt-net')
  const request = {
    subject_sovereign_id: partner.sovereign_id,
    subject_public_keys: [partner.publicKey],
    scope: { allowed_roles: ['role:client'] },
  }
  const issue = () => na.as('privileged')('POST', '/admin/recognition-treaties', request)
  const end = (id: string) =>
    na.as('privileged')('POST', `/admin/recognition-treaties/${id}/revoke`, { reason: 'over' })

  it.runIf(currentBackend() === 'sqlite')('is found in the audit by an index', async () => {
    const found = sql<{
      detail: string
    }>`explain query plan select ${isRevokedInAudit('sqlite')} from recognition_treaties`
    const { rows } = await found.execute(na.core.database.read)
    expect(rows.map((row) => row.detail).join('\n')).toContain('USING INDEX audit_events_by_revoked_treaty')
  })

  it('whose row is active again does not count, is reported, and stops new ones until it is revoked again', async () => {
    const treaty = accepted(await issue(), 201)
    const id = String(treaty['treaty_id'])
    accepted(await end(id))
    await checkRecords(na.parts)
    expect('warnings' in (await readyz())).toBe(false)
    await rowsOf(na.core.database)
      .updateTable('recognition_treaties')
      .set({ status: 'active', revoked_at: null, revocation_reason: null })
      .execute()
    await restart()
    const { trusted } = accepted(await na.request('GET', '/connectome/trust-path?from=TEST-NET&to=bolt-net'))
    expect(trusted).toBe(false)
    const feed = readJson(wireText(foreignFeed(partner, 1, []))) as JsonObject
    const imported = await na.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', { feed })
    refused(imported, 400, 'missing_issuer_public_keys')
    const verdict = accepted(await na.request('POST', '/recognition-treaties/verify', { body: { treaty } }))
    expect(verdict).toMatchObject({ accepted: false, reason: 'locally_revoked' })
    expect(accepted(await na.request('GET', `/recognition-treaties/${id}`))['status']).toBe('revoked')
    expect(await readyz()).toMatchObject({ warnings: ['treaty_unverified'] })
    expect(refused(await issue(), 503, 'service_unavailable')['details']).toEqual({ reason: 'treaty_unverified' })
    accepted(await end(id))
    await checkRecords(na.parts)
    expect('warnings' in (await readyz())).toBe(false)
    accepted(await issue(), 201)
  })
})

describe('the evidence log', () => {
  it('signs no checkpoint on a tile that contradicts the last one', async () => {
    const evidenceStore = await openTestStore()
    try {
      const { core, features } = evidenceStore.na
      const note = async (): Promise<string> => (await evidenceStore.na.request('GET', '/evidence-log/checkpoint')).text
      for (let count = 0; count < 3; count += 1) await evidenceStore.decide()
      await features.evidenceLog.append()
      const before = await note()
      const tile = await core.database.read.selectFrom('evidence_log_tiles').selectAll().executeTakeFirstOrThrow()
      const hashes = Buffer.from(tile.hashes)
      const edited = Buffer.concat([Buffer.alloc(32, 0xab), hashes.subarray(32)])
      await rowsOf(core.database).updateTable('evidence_log_tiles').set({ hashes: edited }).execute()
      await evidenceStore.decide()
      await expect(features.evidenceLog.append()).rejects.toMatchObject({ code: 'service_unavailable' })
      expect(await note()).toBe(before)
      const ready = accepted(await evidenceStore.na.request('GET', '/readyz'))
      expect(ready['warnings']).toEqual(['evidence_log_contradicted'])
      await rowsOf(core.database).updateTable('evidence_log_tiles').set({ hashes }).execute()
      await features.evidenceLog.append()
      expect(await note()).not.toBe(before)
      expect('warnings' in accepted(await evidenceStore.na.request('GET', '/readyz'))).toBe(false)
    } finally {
      await evidenceStore.stop()
    }
  })
})
