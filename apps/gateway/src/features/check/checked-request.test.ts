import type { JoinCertificate } from '@chancery/protocol'
import { ManualClock, testCertificate, testIssuer } from '@chancery/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { ReadCertificates } from './checked-request.ts'

let certificate: JoinCertificate
let other: JoinCertificate
beforeAll(async () => {
  const by = await testIssuer('agency')
  const clock = new ManualClock()
  certificate = await testCertificate(by, clock.now())
  other = await testCertificate(by, clock.now())
})

describe('ReadCertificates', () => {
  it('finds a certificate by exactly its text', () => {
    const certificates = new ReadCertificates()
    certificates.store(':one:', certificate)
    certificates.store(':two:', other)
    expect(certificates.find(':one:')).toBe(certificate)
    expect(certificates.find(':two:')).toBe(other)
    expect([certificates.find(':one'), certificates.find(':ONE:')]).toEqual([undefined, undefined])
  })

  it('removes the texts that were not used since the group before, and stores those that were', () => {
    // Two texts of five characters in each group.
    const certificates = new ReadCertificates(10)
    const names = Array.from({ length: 9 }, (_, index) => `text${index}`)
    certificates.store('used0', certificate)
    for (const name of names) {
      certificates.store(name, other)
      expect(certificates.find('used0')).toBe(certificate)
    }
    expect(names.filter((name) => certificates.find(name) !== undefined).length).toBeLessThanOrEqual(3)
  })
})
