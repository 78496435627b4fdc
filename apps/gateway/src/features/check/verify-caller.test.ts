import type { JoinCertificate } from '@chancery/protocol'
import {
  ManualClock,
  startTestGateway,
  testCertificate,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
  testProof,
  testSigner,
} from '@chancery/testkit'
import type { TestGateway } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { StoredVerdicts } from '../../trust/stored-verdicts.ts'
import { DecisionCache } from '../decisions/index.ts'
import { type CheckedRequest, ReadCertificates } from './checked-request.ts'
import { AUDIENCE } from './checked-gateway.suite.ts'
import { verifyCaller } from './verify-caller.ts'

/** Holds: a request that is refused stores no certificate, so that it cannot remove those of other nodes. */
const clock = new ManualClock('2026-01-02T03:04:05.678Z')
const NONCE = 'AAAAAAAAAAAAAAAAAAAAAA'

let gateway: TestGateway
let certificates: ReadCertificates
/** Sends a request with one of two certificates of one node key. Returns the text of the certificate. */
let send: (
  at: 0 | 1,
  requestsPerMinute: number,
  nonce?: string,
) => Promise<{ readonly text: string; readonly verified: Promise<unknown> }>

beforeAll(async () => {
  const by = await testIssuer('agency')
  const signer = await testSigner('node', 'proving')
  const issue = (cert_id: string): Promise<JoinCertificate> =>
    testCertificate(by, clock.now(), { node_public_key: signer.publicKey, cert_id })
  const issued = [await issue('cert-1'), await issue('cert-2')] as const
  const network = testNetwork(by, await testList(by, clock.now()))
  const check = { audience: AUDIENCE, routes: [{ method: 'GET', path: '/' }] }
  const policy = { ...testPolicy({ agency: network }, [testClient('caller', ['agency'])]), check }
  const settings = { GATEWAY_CHECK_ADDR: '127.0.0.1:0', GATEWAY_CHECK_DIALECT: 'original' }
  gateway = await startTestGateway({ clock, policy, settings })
  const { core } = gateway.gateway
  certificates = new ReadCertificates()
  const parts = { ...core, certificates, cache: new DecisionCache(clock), verdicts: new StoredVerdicts() }
  const trust = core.trust?.current
  const checked = trust?.policy.check
  if (trust === undefined || checked === undefined) throw new Error('the gateway has no policy')
  send = async (at, requestsPerMinute, nonce) => {
    const asked = { method: 'GET', target: '/', audience: AUDIENCE, now: clock.now(), certificate: issued[at], signer }
    const fields = await testProof(nonce === undefined ? asked : { ...asked, nonce })
    const headers = new Map<string, string>(Object.entries(fields))
    const request: CheckedRequest = {
      dialect: 'original',
      method: 'GET',
      target: '/',
      names: [...headers.keys()],
      all: (name) => [headers.get(name)].filter((value) => value !== undefined),
      body: () => new Uint8Array(),
    }
    const policy = { ...checked, requestsPerMinute }
    const verified = verifyCaller(request, { policy, trust, context: {}, now: clock.now() }, parts)
    return { text: fields['chancery-certificate'], verified }
  }
})
// Ends the minute of the quota. Proofs from before the start of a gateway count as used.
beforeEach(() => clock.advance(61))
afterAll(() => gateway.stop())

describe('the certificate of a request', () => {
  it('is stored when the request passes, and not when the node is above its quota', async () => {
    const first = await send(0, 1)
    await first.verified
    expect(certificates.find(first.text)?.cert_id).toBe('cert-1')
    const second = await send(1, 1)
    await expect(second.verified).rejects.toMatchObject({ error: 'node_quota' })
    expect(certificates.find(second.text)).toBeUndefined()
  })

  it('is not stored when the nonce of the node was used', async () => {
    await (
      await send(0, 100, NONCE)
    ).verified
    const again = await send(1, 100, NONCE)
    await expect(again.verified).rejects.toMatchObject({ error: 'proof_replayed' })
    expect(certificates.find(again.text)).toBeUndefined()
    const other = await send(1, 100)
    await other.verified
    expect(certificates.find(other.text)?.cert_id).toBe('cert-2')
  })
})
