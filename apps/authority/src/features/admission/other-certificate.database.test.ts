import { hours, readJoinCertificate, writeInstant, writeSortable } from '@chancery/protocol'
import { accepted, enroll, newNodeCaller, refused } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { Rejoining, expectReason } from './rejoining.suite.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

const again = Rejoining.inThisFile()

describe('an expired certificate that does not say what its node may do now', () => {
  it('does not admit a key whose last certificate an operator revoked as superseded', async () => {
    const rule_id = await again.newRule()
    const renewed = readJoinCertificate(accepted(await again.node.post('/renew', { cert_id: again.last.cert_id }), 201))
    again.clock.advance(2 * 3600)
    accepted(await again.revoke(renewed.cert_id, 'superseded'), 200)
    again.clock.advance(40 * 3600)
    refused(await again.rejoin(rule_id, { ...renewed }), 403, 'node_key_revoked')
    refused(await again.rejoin(rule_id, { ...again.last }), 403, 'node_key_revoked')
  })

  it('gives the roles of the newest certificate, whichever is presented', async () => {
    const own = await newNodeCaller(again.na.url, 'again', again.clock)
    const wide = await enroll(again.na, own, { roles: ['role:service'], max_validity_hours: 2 }, { validity_hours: 2 })
    again.clock.advance(60)
    accepted(await again.revoke(wide.cert_id, 'superseded'), 200)
    await enroll(again.na, own, { roles: ['role:client'], max_validity_hours: 3 }, { validity_hours: 3 })
    again.clock.advance(4 * 3600)
    const next = readJoinCertificate(
      accepted(await again.rejoin(await again.newRule({ max_validity_hours: 24 }), { ...wide }, own), 201),
    )
    expect([next.roles, next.expires_at]).toEqual([['role:client'], writeInstant(again.clock.now() + hours(3))])
    const narrow = await again.newRule({ roles: ['role:service'] })
    expectReason(await again.rejoin(narrow, { ...wide }, own), 'claims_mismatch')
  })

  it('does not count with another text than the one that was issued, as a stolen former key could sign it', async () => {
    const rule_id = await again.newRule()
    again.clock.advance(11 * 3600)
    const { signatures: _signatures, ...rest } = again.last
    const forged = await again.na.core.signing.sign({ ...rest, roles: ['role:service'] })
    expectReason(await again.rejoin(rule_id, { ...forged }), 'certificate_unknown')
    accepted(await again.rejoin(rule_id, { ...again.last }), 201)
  })

  it('does not count when it ended before a recovery: its revocation may be lost, and no list has it any more', async () => {
    const rule_id = await again.newRule()
    again.clock.advance(11 * 3600)
    const recovered_at = writeSortable(again.clock.now())
    const recovery = { position: 1, recovered_at, replay_floor: writeSortable(0n), known_until: null }
    await rowsOf(again.na.core.database).insertInto('recoveries').values(recovery).execute()
    expectReason(await again.rejoin(rule_id, { ...again.last }), 'certificate_unknown')
    expect(
      refused(await again.node.post('/renew', { cert_id: again.last.cert_id }), 403, 'certificate_expired')[
        'details'
      ] ?? {},
    ).toEqual({})
    await rowsOf(again.na.core.database).deleteFrom('recoveries').execute()
  })
})
