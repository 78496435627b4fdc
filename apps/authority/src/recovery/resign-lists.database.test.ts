import { type JsonObject, isJsonObject, readCrl, seconds, verifyList, writeInstant } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import {
  ManualClock,
  accepted,
  currentBackend,
  enroll,
  nodeCaller,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { inspectStore } from '../features/evidence/verify-store.ts'
import { inspectDatabase } from './inspect.ts'
import { NothingToRecoverError } from './recover.ts'
import { ClockError, resignLists } from './resign-lists.ts'

const AHEAD = seconds(40 * 86_400)
const clock = new ManualClock()
let na: TestAuthority
beforeEach(async () => {
  na = await startTestAuthority({ clock, settings: { NA_GENESIS_WINDOW: 'warn' } })
})
afterEach(() => na.stop())

const read = async (path: string): Promise<JsonObject> => accepted(await na.request('GET', path))
const operate = (target: string, body: JsonObject) => na.as('privileged')('POST', target, body)

/** Revokes a certificate and an attestation while the clock is ahead. Returns their ids. */
async function revokeAhead(): Promise<{ readonly cert_id: string; readonly attestation_id: string }> {
  const right = clock.now()
  const node = nodeCaller(na.url, await testSigner('node'), () => clock.now())
  const { cert_id } = await enroll(na, node, { max_validity_hours: 8760 })
  const member = { subject_id: 'member', roles: ['role:client'] }
  const attestation_id = String(accepted(await operate('/admin/attestations', member), 201)['attestation_id'])
  clock.set(right + AHEAD)
  accepted(await operate('/admin/revoke', { cert_id }))
  accepted(await operate(`/admin/attestations/${attestation_id}/revoke`, { reason: 'left' }))
  clock.set(right)
  return { cert_id, attestation_id }
}

describe('list and feed dated in the future by a wrong clock', () => {
  it('are signed again with the correct time, with all entries and the next sequences', async () => {
    const { cert_id, attestation_id } = await revokeAhead()
    const [list, feed] = [await read('/crl'), await read('/sovereign-revocation-feed')]
    expect([list['issued_at'], feed['issued_at']]).toEqual(Array(2).fill(writeInstant(clock.now() + AHEAD)))
    const redated = await resignLists(na.parts, clock.now())
    expect(redated).toEqual({
      crlSequence: Number(list['sequence']) + 1,
      feedSequence: Number(feed['sequence']) + 1,
    })
    const [newList, newFeed] = [await read('/crl'), await read('/sovereign-revocation-feed')]
    expect([newList['issued_at'], newFeed['issued_at']]).toEqual(Array(2).fill(writeInstant(clock.now())))
    expect(readCrl(newList).revoked_certificates.map((entry) => entry.certificate_id)).toContain(cert_id)
    expect(newFeed['revoked_attestation_ids']).toEqual([attestation_id])
    expect(await verifyList(readCrl(newList), [na.genesis.network_authority.public_key])).toBe(true)
  })

  it('cause an audit event, and a database that verifies', async () => {
    await revokeAhead()
    const { crlSequence, feedSequence } = await resignLists(na.parts, clock.now())
    const event = (await na.auditEvents()).find((each) => each['event_type'] === 'state_recovered')
    const details = isJsonObject(event) ? event['details'] : undefined
    expect(details).toEqual({ crl_sequence: crlSequence, feed_sequence: feedSequence, revocations: 0, agents: 0 })
    const authority = { publicKeys: [na.genesis.network_authority.public_key], sovereign: na.genesis.network_name }
    expect((await inspectDatabase(na.core.database.read, authority, inspectStore)).problems).toEqual([])
  })

  it('continue from there, and are left unchanged when they are not ahead', async () => {
    await revokeAhead()
    await resignLists(na.parts, clock.now())
    await expect(resignLists(na.parts, clock.now())).rejects.toThrow(NothingToRecoverError)
    clock.advance(60)
    const node = nodeCaller(na.url, await testSigner('other'), () => clock.now())
    accepted(await operate('/admin/revoke', { cert_id: (await enroll(na, node)).cert_id }))
    expect((await read('/crl'))['issued_at']).toBe(writeInstant(clock.now()))
  })

  it('are left unchanged when the clock differs from the time that the operator gives', async () => {
    await revokeAhead()
    for (const reported of [clock.now() + seconds(301), clock.now() - seconds(301)])
      await expect(resignLists(na.parts, reported)).rejects.toThrow(ClockError)
    await expect(resignLists(na.parts, clock.now() + seconds(300))).resolves.toBeDefined()
  })

  it.runIf(currentBackend() === 'postgres')('are not signed while the clock offset is too large', async () => {
    const own = new ManualClock(systemClock.now())
    const other = await startTestAuthority({ clock: own, settings: { NA_CLOCK_CHECK: 'on' } })
    accepted(await other.request('GET', '/crl'))
    own.set(own.now() - seconds(3600))
    await expect(resignLists(other.parts, own.now())).rejects.toThrow(ClockError)
    await other.stop()
  })
})
