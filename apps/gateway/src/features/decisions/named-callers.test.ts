import type { JsonObject } from '@chancery/protocol'
import { enroll, newNodeCaller, testClient, testProof, testSigner } from '@chancery/testkit'
import { expect, it } from 'vitest'
import { startDecidingGateway } from './deciding-gateway.suite.ts'

// Holds: with name_callers an authority that trusts the gateway counts its clients, and otherwise the gateway.

const other = testClient('other', ['TEST-NET'], { decisions: true, proof_audiences: ['https://print.example'] })

async function statuses(network: JsonObject): Promise<readonly number[]> {
  const { publicKey } = await testSigner('relay', 'gateway-relay')
  const authority = { NA_TRUSTED_GATEWAY_KEYS: publicKey, NA_RATE_LIMIT_DECISION_ADDRESS_PER_MINUTE: '2' }
  const setup = await startDecidingGateway({ kind: 'relay', clients: [other], authority, network })
  try {
    const node = await newNodeCaller(setup.na.url, 'caller', setup.clock)
    const certificate = await enroll(setup.na, node, { roles: ['role:client'] })
    const attestation = await setup.attest({ subject_public_key: node.key })
    await setup.gateway.reload(await setup.policy({ subjects: { 'user:alice': attestation } }))
    const ask = async (token?: string): Promise<number> => {
      const request = { method: 'POST', target: '/print', audience: 'https://print.example' }
      const proof = await testProof({ ...request, certificate, signer: node.signer, now: setup.clock.now() })
      const on_behalf_of: JsonObject = {
        method: request.method,
        request_target: request.target,
        content_digest: proof['content-digest'],
        audience: request.audience,
        certificate: proof['chancery-certificate'],
        attestation: null,
        signature_input: proof['signature-input'],
        signature: proof.signature,
      }
      const body = {
        subject: { type: 'user', id: 'alice' },
        action: { name: 'print' },
        resource: { type: 'printer', id: 'p1' },
        context: { chancery: { on_behalf_of } },
      }
      return (await setup.ask(body, token === undefined ? {} : { token })).status
    }
    return [await ask(), await ask(), await ask(), await ask(other.token)]
  } finally {
    await setup.stop()
  }
}

it('counts the client that the gateway names', async () => {
  expect(await statuses({ name_callers: true })).toEqual([200, 200, 502, 200])
})

it('counts the gateway where callers are not named', async () => {
  expect(await statuses({})).toEqual([200, 200, 502, 502])
})
