import type { IssuerTrust } from '@chancery/protocol'
import { ManualClock, testCertificate, testIssuer } from '@chancery/testkit'
import { expect, it } from 'vitest'
import { StoredVerdicts } from './stored-verdicts.ts'

it('finds a verdict for exactly the certificate and the anchors that were verified', async () => {
  const by = await testIssuer('agency')
  const now = new ManualClock().now()
  const certificate = await testCertificate(by, now)
  const anchors: IssuerTrust['anchors'] = new Map([['na-main', new Uint8Array(32)]])
  const verdicts = new StoredVerdicts()
  expect(verdicts.find(certificate, anchors)).toBeUndefined()
  verdicts.store(certificate, anchors, [true])
  expect(verdicts.find(certificate, anchors)).toEqual([true])
  // A policy that is read again has other objects, and so does a certificate of another text.
  expect(verdicts.find(certificate, new Map(anchors))).toBeUndefined()
  expect(verdicts.find({ ...certificate }, anchors)).toBeUndefined()
  expect(verdicts.find(await testCertificate(by, now), anchors)).toBeUndefined()
})
