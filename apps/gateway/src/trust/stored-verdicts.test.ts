import type { IssuerTrust, JoinCertificate } from '@chancery/protocol'
import { ManualClock, testCertificate, testIssuer } from '@chancery/testkit'
import { beforeAll, expect, it } from 'vitest'
import { StoredVerdicts } from './stored-verdicts.ts'

let certificate: JoinCertificate
let anchors: IssuerTrust['anchors']
beforeAll(async () => {
  const by = await testIssuer('agency')
  certificate = await testCertificate(by, new ManualClock().now())
  anchors = new Map([[by.keyId, Buffer.from(by.signer.publicKey, 'base64')]])
})

it('verifies a certificate once under the same anchors, and again for other objects', () => {
  const verified: unknown[] = []
  const verdicts = new StoredVerdicts((each, under) => {
    verified.push([each, under])
    return [true]
  })
  for (let times = 0; times < 3; times += 1) expect(verdicts.verify(certificate, anchors)).toEqual([true])
  expect(verified).toHaveLength(1)
  // A policy that is read again has other objects, and so does a certificate of another text.
  expect(verdicts.verify(certificate, new Map(anchors))).toEqual([true])
  expect(verdicts.verify({ ...certificate }, anchors)).toEqual([true])
  expect(verified).toHaveLength(3)
})

it('gives the verdicts of the protocol, each time', () => {
  const verdicts = new StoredVerdicts()
  const changed = { ...certificate, roles: ['role:admin'] }
  const broken = { ...certificate, signatures: [{ key_id: 'na-main', sig: 'AA==' }] }
  for (let times = 0; times < 2; times += 1) {
    expect(verdicts.verify(certificate, anchors)).toEqual([true])
    expect(verdicts.verify(changed, anchors)).toEqual([false])
    expect(verdicts.verify(certificate, new Map())).toEqual([undefined])
    expect(verdicts.verify(broken, anchors)).toBeUndefined()
  }
})
