// oxlint-disable max-lines -- one rolled back database and every input of its recovery
import { randomBytes } from 'node:crypto'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HOUR, draftAgentDescriptor, signAgentDelete, signList, writeInstant, writeJson } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { silentLog } from '@chancery/service-kit'
import {
  accepted,
  createInvite,
  createTestDatabase,
  currentBackend,
  enroll,
  foreignSovereign,
  ManualClock,
  nodeCaller,
  postgresServer,
  refused,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { TestAuthority, TestDatabase } from '@chancery/testkit'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openFeatures } from '../features.ts'
import { openCore } from '../startup/open-core.ts'
import { ruleTerms } from '../features/admission/admission-rule.suite.ts'
import { intent } from '../features/boundary-policies/intents.suite.ts'
import { type Published, PublishedListError } from './published-lists.ts'
import { NothingToRecoverError, type Recovery, recoverState } from './recover.ts'
import { rowsOf } from '../testing/rows.suite.ts'
import { readVersions } from '../database/locks/versions.ts'
import { forgetMarks } from '../rollback/mark-memory.ts'
import { readRecovery } from '../rollback/positions.ts'

const SERVER = postgresServer()

/** Copies the database while there are no connections, and restores it. */
async function backUp({ settings }: TestDatabase): Promise<() => Promise<void>> {
  const path = settings['DB_PATH']
  if (path !== undefined) {
    // The last connection has closed, so everything is in one file.
    await copyFile(path, `${path}.backup`)
    return () => copyFile(`${path}.backup`, path)
  }
  const name = new URL(settings['DATABASE_URL'] ?? '').pathname.slice(1)
  const copy = `test_${randomBytes(8).toString('hex')}`
  await onServer(`create database ${copy} template ${name}`)
  return () => onServer(`drop database ${name} with (force)`, `alter database ${copy} rename to ${name}`)
}

async function onServer(...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: SERVER })
  await client.connect()
  for (const statement of statements) await client.query(statement)
  await client.end()
}

/** Reliability 12.2 and 12.3. */
const EVIDENCE_ON = { EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0' }

describe('an authority whose database is rolled back', () => {
  let folder: string
  let database: TestDatabase
  let clock: ManualClock
  let na: TestAuthority
  const operators = { privileged: 'privileged', standard: 'standard', gone: 'standard' } as const
  const marks = (): string[] => [join(folder, 'one.mark'), join(folder, 'two.mark')]
  const start = async (more: Readonly<Record<string, string>> = {}): Promise<TestAuthority> => {
    na = await startTestAuthority({
      clock,
      database,
      operators,
      settings: { NA_HIGH_WATER_FILES: marks().join(','), ...more },
    })
    return na
  }
  /** As a database of 0.2.0, which does not know that it had a mark. */
  const startUnrecorded = async (): Promise<void> => {
    await start()
    await na.core.database.write(forgetMarks)
    await na.core.rollback.recheck()
  }
  const node = async (name: string): Promise<ReturnType<typeof nodeCaller>> =>
    nodeCaller(na.url, await testSigner(name, name), () => clock.now())
  const attest = async (subject: string): Promise<string> =>
    String(
      accepted(
        await na.as('privileged')('POST', '/admin/attestations', { subject_id: subject, roles: ['role:client'] }),
        201,
      )['attestation_id'],
    )
  const revokeOne = async (id: string): Promise<void> => {
    accepted(await na.as('privileged')('POST', `/admin/attestations/${id}/revoke`, { reason: 'left' }))
  }
  const revoke = async (cert_id: string): Promise<void> => {
    accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id, reason: 'key_compromise' }))
  }
  const stop = async (): Promise<void> => {
    await na.core.rollback.writeMark()
    await na.stop()
  }
  const recover = async (published: Published = {}): Promise<Recovery> => {
    const opened = await openCore(na.settings, { log: silentLog, clock, isRecovering: true })
    try {
      return await recoverState({ ...opened.core, ...openFeatures(opened.core, na.settings) }, published)
    } finally {
      await opened.close()
    }
  }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chancery-marks-'))
    clock = new ManualClock()
    database = await createTestDatabase()
  })
  afterEach(async () => {
    await na.stop().catch(() => undefined)
    await database.drop()
    await rm(folder, { recursive: true })
  })

  it('is recovered in one step from a backup of before an earlier recovery', async () => {
    await start()
    const [one, two] = [await enroll(na, await node('one')), await enroll(na, await node('two'))]
    await stop()
    const [first, second] = [await backUp(database), await backUp(database)]
    await start()
    await revoke(one.cert_id)
    await stop()
    await first()
    await start()
    await recover()
    await na.core.rollback.recheck()
    clock.advance(400)
    await revoke(two.cert_id)
    await stop()
    await second()
    await start()
    await recover()
    await na.core.rollback.recheck()
    expect(na.core.rollback.isHalted()).toBe(false)
    accepted(await na.request('GET', '/readyz'))
    const list = accepted(await na.request('GET', '/crl'))['revoked_certificates'] as JsonObject[]
    expect(list.map((entry) => entry['certificate_id']).sort()).toEqual([one.cert_id, two.cert_id].sort())
  })

  /** One of everything before the backup, more after it, which must not be lost. */
  async function liveOn(): Promise<{
    readonly certs: readonly string[]
    readonly attestations: readonly string[]
    readonly invite: string
    readonly captured: { readonly nonce: string; readonly timestamp: string }
  }> {
    await start()
    const early = await enroll(na, await node('early'))
    const late = await enroll(na, await node('late'))
    await revoke(early.cert_id)
    const [stored, known] = [await attest('kept'), await attest('known')]
    await revokeOne(stored)
    const invite = await createInvite(na)
    await stop()
    const restore = await backUp(database)

    await start()
    clock.advance(10)
    await revoke(late.cert_id)
    const unknown = await attest('unknown')
    await revokeOne(unknown)
    await revokeOne(known)
    accepted(await (await node('newcomer')).join(invite), 201)
    accepted(await na.as('privileged')('POST', '/admin/operator-keys/op-gone/revoke', {}))
    const captured = { nonce: 'captured', timestamp: '2026-01-02T03:04:15Z' }
    accepted(await na.as('standard')('GET', '/admin/policy/history', undefined, captured))
    await stop()
    await restore()
    await start()
    return { certs: [early.cert_id, late.cert_id], attestations: [stored, known, unknown], invite, captured }
  }

  it('is not ready, signs nothing and serves only probes', async () => {
    await liveOn()
    const details = refused(await na.request('GET', '/readyz'), 503, 'service_not_ready')['details'] as JsonObject
    expect(details['signing_halted']).toEqual(['state_rollback'])
    refused(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'p' }), 503, 'service_unavailable')
    for (const path of ['/crl', '/policy', '/sovereign-revocation-feed', '/nodes'])
      refused(await na.request('GET', path), 503, 'service_unavailable')
    refused(await (await node('other')).heartbeat('c'), 503, 'service_unavailable')
    accepted(await na.request('GET', '/healthz'))
    accepted(await na.request('GET', '/health'))
    expect((await na.request('GET', '/metrics')).status).toBe(200)
  })

  it('loses no revocation and reuses no sequence after the recovery', async () => {
    const { certs, attestations } = await liveOn()
    // Two lists and three feeds had been published.
    const recovery = await recover()
    expect(recovery).toMatchObject({ crlSequence: 102, feedSequence: 103, revocations: 4 })
    // Readiness compares by itself, because jobs may back off for a long time after an outage.
    accepted(await na.request('GET', '/readyz'))
    const list = accepted(await na.request('GET', '/crl'))
    expect(list['sequence']).toBe(102)
    const listed = (list['revoked_certificates'] as JsonObject[]).map((entry) => entry['certificate_id'])
    expect(listed.sort()).toEqual([...certs].sort())
    const feed = accepted(await na.request('GET', '/sovereign-revocation-feed'))
    expect(feed['sequence']).toBe(103)
    expect(feed['revoked_attestation_ids']).toEqual([...attestations].sort())
    // A record cached with a version of the lost history never counts as current.
    const { versions } = await readVersions(na.core.database)
    expect(Math.min(...versions.values())).toBeGreaterThanOrEqual(1_000_000)
    const events = await na.auditEvents('state_recovered')
    expect(events.map((event) => event['details'])).toEqual([
      { crl_sequence: 102, feed_sequence: 103, revocations: 4, agents: 0, replay_floor: '2026-01-02T03:09:15Z' },
    ])
  })

  it('accepts nothing signed up to five minutes after the recovery, and no earlier invite', async () => {
    const { captured, invite } = await liveOn()
    await recover()
    await na.core.rollback.recheck()
    const history = (options?: object): ReturnType<ReturnType<TestAuthority['as']>> =>
      na.as('standard')('GET', '/admin/policy/history', undefined, options)
    // The caller made no mistake, so it is neither counted nor audited. The response has the reason and the time to
    // retry.
    const floor = { reason: 'replay_floor', replay_floor: '2026-01-02T03:09:15Z' }
    expect(refused(await history(captured), 503, 'service_unavailable')['details']).toEqual(floor)
    const first = await history()
    expect(refused(first, 503, 'service_unavailable')['details']).toEqual(floor)
    expect(Number(first.headers['retry-after'])).toBeGreaterThanOrEqual(300)
    expect(refused(await (await node('again')).join(invite), 503, 'service_unavailable')['details']).toEqual(floor)
    for (const type of ['admin_auth_failed', 'node_auth_failed']) expect(await na.auditEvents(type)).toEqual([])
    // A caller without a valid signature learns nothing of the recovery, and is counted.
    const forged = {
      'X-Admin-Key-Id': 'op-standard',
      'X-Admin-Timestamp': writeInstant(clock.now()),
      'X-Admin-Nonce': 'forged',
      'X-Admin-Signature': 'A'.repeat(86) + '==',
    }
    const answer = refused(
      await na.request('GET', '/admin/policy/history', { headers: forged }),
      401,
      'admin_auth_failed',
    )
    expect(writeJson(answer)).not.toContain('replay_floor')
    const failures = (await na.auditEvents('admin_auth_failed')).map((event) => event['details'])
    expect(failures).toMatchObject([{ key_id: 'op-standard', reason: 'invalid_signature' }])
    const gauge = async (): Promise<string | undefined> =>
      /^chancery_replay_floor_seconds (.+)$/m.exec((await na.request('GET', '/metrics')).text)?.[1]
    expect(await gauge()).toBe('301')
    expect(accepted(await na.request('GET', '/readyz'))['warnings']).toEqual(['replay_floor'])
    clock.advance(300)
    refused(await history(), 503, 'service_unavailable')
    clock.advance(1)
    expect(await gauge()).toBe('0')
    accepted(await history())
    refused(await (await node('again')).join(invite), 403, 'invalid_invite_token')
    expect(refused(await na.as('gone')('GET', '/admin/policy/history'), 401, 'admin_auth_failed')['message']).toBe(
      'Unknown admin key',
    )
    // The next sequence follows the jump.
    accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'after' }), 201)
    const fresh = await enroll(na, await node('fresh'))
    await revoke(fresh.cert_id)
    expect(accepted(await na.request('GET', '/crl'))['sequence']).toBe(103)
  })

  it('is detected when a removed admission rule was the only change, and has no rule in force afterwards', async () => {
    await start()
    const post = (target: string, body: JsonObject = {}): ReturnType<ReturnType<TestAuthority['as']>> =>
      na.as('privileged')('POST', `/admin/admission-rules${target}`, body)
    for (const rule_id of ['gone-rule', 'other-rule']) accepted(await post('', ruleTerms(rule_id)), 201)
    // In force: the token is read, and is none.
    const reasonOf = async (rule_id: string): Promise<unknown> =>
      accepted(await post(`/${rule_id}/test`, { token: 'no-token' }))['reason']
    expect(await reasonOf('gone-rule')).toBe('malformed')
    await stop()
    const restore = await backUp(database)
    await start()
    accepted(await post('/gone-rule/remove', { reason: 'left' }))
    await stop()
    await restore()
    await start()
    expect(na.core.rollback.isHalted()).toBe(true)
    expect(await recover()).toMatchObject({ rules: 2 })
    await na.core.rollback.recheck()
    clock.advance(400)
    for (const rule_id of ['gone-rule', 'other-rule']) {
      expect(await reasonOf(rule_id)).toBe('rule_unavailable')
      refused(await post('', ruleTerms(rule_id)), 409, 'conflict')
    }
    const removed = (await na.auditEvents('admission_rule_removed')).map((event) => event['details'] as JsonObject)
    expect(removed.map(({ rule_id, job }) => [rule_id, job])).toEqual([
      ['gone-rule', 'recover'],
      ['other-rule', 'recover'],
    ])
    accepted(await post('', ruleTerms('new-rule')), 201)
    expect(await reasonOf('new-rule')).toBe('malformed')
  })

  it('shows no agent that may have been removed since, and accepts no earlier descriptor', async () => {
    await start()
    const signer = await testSigner((await testSigner('node', 'roaming')).publicKey, 'roaming')
    const roaming = nodeCaller(na.url, signer, () => clock.now())
    await enroll(na, roaming)
    const describeAgent = () =>
      signList(
        draftAgentDescriptor({
          agent_id: 'roaming',
          node_public_key: signer.publicKey,
          network_name: 'TEST-NET',
          capabilities: ['fetch'],
          endpoint: { host: '198.51.100.7', port: 7448 },
          registered_at: writeInstant(clock.now()),
          expires_at: writeInstant(clock.now() + HOUR),
        }),
        signer,
      )
    const [before, url] = [await describeAgent(), `/agents/${encodeURIComponent(signer.publicKey)}`]
    accepted(await na.request('POST', '/agents', { body: before }))
    await stop()
    const restore = await backUp(database)
    await start()
    clock.advance(10)
    const signed_at = writeInstant(clock.now())
    const envelope = await signAgentDelete(signed_at, signer)
    accepted(await na.request('DELETE', url, { body: envelope }))
    await revoke((await enroll(na, await node('other'))).cert_id)
    await stop()
    await restore()
    await start()
    expect(await recover()).toMatchObject({ agents: 1 })
    await na.core.rollback.recheck()
    refused(await na.request('GET', url), 404, 'agent_not_registered')
    expect(accepted(await na.request('GET', '/agents?capability=fetch'))['agents']).toEqual([])
    refused(await na.request('POST', '/agents', { body: before }), 400, 'descriptor_expired')
    clock.advance(301)
    refused(await na.request('POST', '/agents', { body: before }), 400, 'descriptor_expired')
    accepted(await na.request('POST', '/agents', { body: await describeAgent() }))
    accepted(await na.request('GET', url))
  })

  it('is recovered from records that others saved when no mark is left', async () => {
    await start()
    const [early, late] = [await enroll(na, await node('early')), await enroll(na, await node('late'))]
    await revoke(early.cert_id)
    const stored = await attest('kept')
    await stop()
    const restore = await backUp(database)
    await start()
    await revoke(late.cert_id)
    await revokeOne(stored)
    const crl = (await na.request('GET', '/crl')).text
    const feed = (await na.request('GET', '/sovereign-revocation-feed')).text
    await stop()
    await restore()
    for (const file of marks()) await rm(file)
    await start()
    // Without a mark the rollback is not seen. The database says that there was one, so it is not served.
    const { details } = refused(await na.request('GET', '/readyz'), 503, 'service_not_ready')
    expect(details).toMatchObject({ signing_halted: ['mark_missing'] })
    await expect(recover()).rejects.toThrow(/--crl/)
    await expect(recover({ crl: crl.replace('key_compromise', 'unspecified') })).rejects.toThrow(PublishedListError)
    await expect(recover({ feed: '{}' })).rejects.toThrow(PublishedListError)
    expect(await recover({ crl, feed })).toMatchObject({ crlSequence: 102, feedSequence: 101, revocations: 2 })
    await na.core.rollback.recheck()
    expect((await na.request('GET', '/crl')).text).toContain(late.cert_id)
    expect((await na.request('GET', '/sovereign-revocation-feed')).text).toContain(stored)
    await expect(recover({ crl, feed })).rejects.toThrow(NothingToRecoverError)
  })

  it('drops no revocation silently when another list with the same sequence was signed since', async () => {
    await start()
    const [one, two] = [await enroll(na, await node('early')), await enroll(na, await node('late'))]
    // The first list is signed before the backup, so both histories use the same sequence for their next list.
    accepted(await na.request('GET', '/crl'))
    await stop()
    const restore = await backUp(database)
    await start()
    await revoke(one.cert_id)
    const crl = (await na.request('GET', '/crl')).text
    await stop()
    await restore()
    for (const file of marks()) await rm(file)
    await startUnrecorded()
    await revoke(two.cert_id)
    const missing = recover({ crl })
    await expect(missing).rejects.toThrow(PublishedListError)
    await expect(missing).rejects.toThrow(`node revoke what only this list names: ${one.cert_id}`)
    // The own list, given unchanged, is not a second history.
    const own = (await na.request('GET', '/crl')).text
    await expect(recover({ crl: own })).rejects.toThrow(NothingToRecoverError)
  })

  it('stays recovered over a restart, and reports that nothing is left to do', async () => {
    await liveOn()
    await recover()
    await na.stop()
    await start()
    accepted(await na.request('GET', '/readyz'))
    await expect(recover()).rejects.toThrow(NothingToRecoverError)
  })

  it('is detected from either file, and also when the same sequence has other content', async () => {
    await start()
    await revoke((await enroll(na, await node('one'))).cert_id)
    await stop()
    await rm(marks()[0] ?? '')
    await start()
    accepted(await na.request('GET', '/readyz'))
    const db = rowsOf(na.core.database)
    await db.updateTable('crl_versions').set({ crl_json: '{}' }).where('sequence', '=', 1).execute()
    await na.core.rollback.recheck()
    refused(await na.request('GET', '/readyz'), 503, 'service_not_ready')
  })

  it('is detected by an instance whose own mark is older: from the versions it has read, and from marks of others', async () => {
    await start()
    await revoke((await enroll(na, await node('one'))).cert_id)
    accepted(await na.request('GET', '/crl'))
    const db = rowsOf(na.core.database)
    await db.updateTable('heads').set({ version: 0 }).where('name', '=', 'crl').execute()
    await na.core.rollback.recheck()
    refused(await na.request('GET', '/readyz'), 503, 'service_not_ready')
    await db.updateTable('heads').set({ version: 9 }).where('name', '=', 'crl').execute()
    await na.core.rollback.recheck()
    accepted(await na.request('GET', '/readyz'))

    // Another instance writes its mark to the same files.
    const other = await startTestAuthority({
      clock,
      database,
      operators,
      settings: { NA_HIGH_WATER_FILES: marks().join(',') },
    })
    const late = await enroll(
      other,
      nodeCaller(other.url, await testSigner('two', 'two'), () => clock.now()),
    )
    accepted(await other.as('privileged')('POST', '/admin/revoke', { cert_id: late.cert_id }))
    await other.core.rollback.writeMark()
    await other.stop()
    await db.deleteFrom('crl_versions').where('sequence', '=', 2).execute()
    await na.core.rollback.recheck()
    refused(await na.request('GET', '/readyz'), 503, 'service_not_ready')
    // An instance that has not detected the rollback yet does not overwrite the higher mark with its older one.
    await na.core.rollback.writeMark()
    const stored = JSON.parse(await readFile(marks()[0] ?? '', 'utf8')) as { crl: { sequence: number } }
    expect(stored.crl.sequence).toBe(2)
  })

  it('serves again after a recovery although certificates that were issued and revoked since are lost', async () => {
    await start()
    await revoke((await enroll(na, await node('one'))).cert_id)
    await stop()
    const restore = await backUp(database)
    await start()
    for (const name of ['two', 'three']) await revoke((await enroll(na, await node(name))).cert_id)
    await stop()
    // Every machine has its own mark. The recovery updates only one of them.
    await copyFile(marks()[0] ?? '', join(folder, 'elsewhere.mark'))
    await restore()
    await start()
    await recover()
    await na.core.rollback.recheck()
    accepted(await na.request('GET', '/readyz'))
    await na.stop()
    na = await startTestAuthority({
      clock,
      database,
      operators,
      settings: { NA_HIGH_WATER_FILES: join(folder, 'elsewhere.mark') },
    })
    accepted(await na.request('GET', '/readyz'))
  })

  it.each(['a treaty', 'a boundary policy', 'an executor key'])(
    'is detected by %s that is active again',
    async (what) => {
      await start(EVIDENCE_ON)
      const post = async (path: string, body: JsonObject = {}): Promise<JsonObject> => {
        const answer = await na.as('privileged')('POST', path, body)
        return accepted(answer, answer.status === 201 ? 201 : 200)
      }
      const keys = [foreignSovereign('PARTNER-NET').publicKey]
      const treaty = await post('/admin/recognition-treaties', {
        subject_sovereign_id: 'PARTNER-NET',
        subject_public_keys: keys,
      })
      await post('/admin/boundary-policies', intent({ policy_id: 'gone' }))
      await post('/admin/boundary-policies/gone/activate', { version: 1 })
      await post('/admin/evidence/executor-keys', {
        key_id: 'k',
        public_key: keys[0] ?? '',
        executor_sovereign_id: 'robot',
      })
      await stop()
      const restore = await backUp(database)
      await start(EVIDENCE_ON)
      const revocations: Readonly<Record<string, () => Promise<JsonObject>>> = {
        'a treaty': () => post(`/admin/recognition-treaties/${String(treaty['treaty_id'])}/revoke`),
        'a boundary policy': () => post('/admin/boundary-policies/gone/deactivate', { version: 1 }),
        'an executor key': () => post('/admin/evidence/executor-keys/k/retire'),
      }
      await revocations[what]?.()
      await stop()
      await restore()
      await start(EVIDENCE_ON)
      refused(await na.request('GET', '/readyz'), 503, 'service_not_ready')
      refused(await na.request('GET', '/recognition-graph'), 503, 'service_unavailable')
      await recover()
      await na.core.rollback.recheck()
      accepted(await na.request('GET', '/readyz'))
    },
  )

  it('has every anchor in its mark within seconds', async () => {
    await start(EVIDENCE_ON)
    await na.core.rollback.writeMark()
    const attestation_id = await attest('kept')
    accepted(
      await na.as('standard')('POST', '/admin/boundary/evaluate', { attestation_id, requested_capability: 'x' }),
      201,
    )
    accepted(await na.as('standard')('POST', '/admin/evidence/anchors', {}), 201)
    // Less than a minute has passed.
    await na.core.rollback.writeMark()
    expect(na.core.rollback.mark?.evidence?.sequence).toBe(2)
  })

  it('keeps the revocations of both histories where a sequence was used twice', async () => {
    await start()
    const [one, two] = [await enroll(na, await node('one')), await enroll(na, await node('two'))]
    await stop()
    const restore = await backUp(database)
    await start()
    await revoke(one.cert_id)
    await stop()
    const stored = await Promise.all(marks().map((file) => readFile(file)))
    await restore()
    for (const file of marks()) await rm(file)
    await startUnrecorded()
    await revoke(two.cert_id)
    await na.stop()
    for (const [at, file] of marks().entries()) await writeFile(file, stored[at] ?? '')
    await start()
    refused(await na.request('GET', '/readyz'), 503, 'service_not_ready')
    expect(await recover()).toMatchObject({ crlSequence: 101, revocations: 1 })
    await na.core.rollback.recheck()
    accepted(await na.request('GET', '/readyz'))
    const listed = (accepted(await na.request('GET', '/crl'))['revoked_certificates'] as JsonObject[]).map(
      (entry) => entry['certificate_id'],
    )
    expect(listed.sort()).toEqual([one.cert_id, two.cert_id].sort())
  })

  it('uses no lower sequence when the other history is further than the jump', async () => {
    await start()
    await revoke((await enroll(na, await node('one'))).cert_id)
    accepted(await na.as('privileged')('POST', '/admin/operator-keys/op-gone/revoke', {}))
    await stop()
    await start()
    const db = rowsOf(na.core.database)
    await db.deleteFrom('revoked_operator_keys').execute()
    const newest = db.selectFrom('crl_versions').select(({ fn }) => fn.max('sequence').as('sequence'))
    await db.updateTable('crl_versions').set({ sequence: 500 }).where('sequence', '=', newest).execute()
    await na.core.rollback.recheck()
    expect(await recover()).toMatchObject({ crlSequence: 501, revocations: 1 })
    await na.core.rollback.recheck()
    expect(accepted(await na.request('GET', '/crl'))['sequence']).toBe(501)
  })

  it('leaves the past unknown after lost rows were restored, and compares with older marks as before', async () => {
    await start()
    const [lost, other] = [await enroll(na, await node('one')), await enroll(na, await node('two'))]
    await revoke(lost.cert_id)
    const at = writeInstant(clock.now())
    clock.advance(600)
    const ask = async (id: string): Promise<JsonObject> => {
      const query = new URLSearchParams({ id, kind: 'certificate', at }).toString()
      return accepted(await na.as('standard')('GET', `/admin/history/trusted?${query}`))
    }
    expect(await ask(other.cert_id)).toMatchObject({ state: 'trusted' })
    const db = rowsOf(na.core.database)
    await db.deleteFrom('crl_entries').execute()
    expect(await recover()).toMatchObject({ revocations: 1, replayFloor: undefined })
    clock.advance(600)
    expect(await ask(other.cert_id)).toMatchObject({ state: 'unknown', reason: 'history_lost' })
    expect(await ask(lost.cert_id)).toMatchObject({ state: 'not_trusted', reason: 'revoked' })
    expect(await readRecovery(db)).toEqual({ position: 1, at: 0n, floor: 0n })
  })

  it.each([
    ['cut', (text: string) => text.slice(0, 40)],
    ['edited', (text: string) => text.replace('"policy_versions":0', '"policy_versions":1')],
    ['emptied', () => ''],
  ])('does not start with a mark that was %s', async (_how, edit) => {
    await start()
    await stop()
    const [file = ''] = marks()
    await writeFile(file, edit(await readFile(file, 'utf8')))
    await expect(start()).rejects.toThrow(/^NA_HIGH_WATER_FILES: \S+one\.mark is not a mark of this authority$/)
  })

  it.runIf(currentBackend() === 'sqlite')('stores its mark next to the SQLite file by default', async () => {
    na = await startTestAuthority({ clock, database })
    await na.core.rollback.writeMark()
    expect(await readFile(`${database.settings['DB_PATH']}.mark`, 'utf8')).toContain('"mark_version":1')
  })
})
