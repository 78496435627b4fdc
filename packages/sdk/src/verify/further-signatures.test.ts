import { checkCertificate, readPublicKey, seedSigner, signList, verifyJoinCertificate } from '@chancery/protocol'
import type { JoinCertificate } from '@chancery/protocol'
import { testSeed } from '@chancery/testkit'
import { expect, it } from 'vitest'
import { AUTHORITY_KEY, CERTIFICATE, LIST } from '../../../protocol/src/trust/worked-records.suite.ts'
import { RelyingParty, verifyCertificate, verifyRecord } from './index.ts'

// protocol/core 6: one rule about further signatures of a certificate, and every verifier has it.

const now = BigInt(Date.parse('2026-03-02T12:00:00Z')) * 1000n
const anchors = { 'na-main': AUTHORITY_KEY }
const network_name = CERTIFICATE.network_name

/** What every verifier says. */
async function verdictsOn(certificate: JoinCertificate, more: Readonly<Record<string, string>> = {}) {
  const known = { ...anchors, ...more }
  const keys = Object.values(known)
  const party = await RelyingParty.open({ network: network_name, anchors: known, crl: LIST })
  const pinned = new Map(Object.entries(known).map(([id, key]) => [id, readPublicKey(key) ?? new Uint8Array()]))
  const checked = await checkCertificate(certificate, { anchors: pinned, skew: 0n, now, list: undefined })
  return {
    verifyCertificate: (await verifyCertificate(certificate, { keys, at: now })).valid,
    verifyRecord: (await verifyRecord(certificate, { keys, at: now })).valid,
    verifyJoinCertificate: (await verifyJoinCertificate(certificate, { network_name, authorityKey: keys, now })).ok,
    relyingParty: (await party.evaluate(certificate, now)).trusted,
    gatewayChecks: checked.findings.length === 0,
  }
}

const all = (value: boolean): object => ({
  verifyCertificate: value,
  verifyRecord: value,
  verifyJoinCertificate: value,
  relyingParty: value,
  gatewayChecks: value,
})

it('every verifier accepts the certificate of its issuer alone', async () => {
  expect(await verdictsOn(CERTIFICATE)).toEqual(all(true))
})

it('every verifier refuses it with a further signature of an unknown key, first or last, genuine or not', async () => {
  const stranger = await seedSigner('other', testSeed('stranger'))
  const two = (await signList(CERTIFICATE, stranger)) as JoinCertificate
  const [own, further] = two.signatures as [JoinCertificate['signatures'][0], JoinCertificate['signatures'][0]]
  const changed = { ...further, sig: own.sig.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')) }
  for (const signatures of [[own, further], [further, own], [own, changed], [further], []])
    expect(await verdictsOn({ ...CERTIFICATE, signatures })).toEqual(all(false))
})

it('every verifier accepts a further signature of a trusted key, and refuses one in the place of the issuer', async () => {
  const second = await seedSigner('na-second', testSeed('second'))
  const two = (await signList(CERTIFICATE, second)) as JoinCertificate
  const more = { 'na-second': second.publicKey }
  expect(await verdictsOn(two, more)).toEqual(all(true))
  expect(await verdictsOn({ ...two, signatures: two.signatures.slice(1) }, more)).toEqual(all(false))
})
