import { seedSigner, toBase64 } from '@chancery/protocol'
import { GATEWAY_OPERATIONS } from '@chancery/contract'
import { describe, expect, it } from 'vitest'
import { type Operation, readCatalogue } from './catalogue.ts'
import { coveredBy, readBody, signRequest } from './sign-request.ts'
import type { NetworkInfo } from './token-info.ts'
import { authorityPath, gatewayTarget } from './target.ts'

const catalogue = readCatalogue(JSON.stringify({ operations: GATEWAY_OPERATIONS }))
function operation(id: string): Operation {
  const found = catalogue.find((each) => each.id === id)
  if (found === undefined) throw new Error(`no operation ${id}`)
  return found
}

const network = { name: 'réseau 1', admin_signature_version: 2 } as NetworkInfo
const AUDIENCE = '0EqyMnQrtKs6E2i9RhXk5tAiSrcaAWuvhSCjMsl3hzc='
const TIMESTAMP = '2026-03-02T10:00:00Z'
const operator = seedSigner('op-1', toBase64(new Uint8Array(32).fill(0x33)))

describe('a signature made in the page', () => {
  // The worked examples of protocol/gateway, appendix A.3.
  it.each([
    {
      id: 'evidence_store-resource-head',
      values: { resource_id: 'kv:vault/clé' },
      body: undefined,
      nonce: '5b0c0f0e-1c1d-4e2f-8a3b-000000000001',
      signature: '/j85429Zcfopbpl711hopf6D60P2L9jd1n1hR5xTe7AaZfDfHCNmo+4/53nEBc14hN4lc91jGjTj56BABjhyDQ==',
    },
    {
      id: 'attestations-revoke-attestation',
      values: { attestation_id: 'att-1' },
      body: '{ "reason" : "cessation_of_operation" }',
      nonce: '5b0c0f0e-1c1d-4e2f-8a3b-000000000002',
      signature: 'y69T1ShqMBTBzTpiJ95y1fjgKuUQJRzRILEKR537YVbM0zGErj5THz/RaZ67svg/UgZyIZDC3FQX8lJWdKLBDg==',
    },
  ])('equals the worked example: $id', async ({ id, values, body, nonce, signature }) => {
    const request = { operation: operation(id), network, values, body, audience: AUDIENCE }
    const headers = await signRequest(request, await operator, { timestamp: TIMESTAMP, nonce })
    expect(headers).toEqual({
      'X-Admin-Key-Id': 'op-1',
      'X-Admin-Timestamp': TIMESTAMP,
      'X-Admin-Nonce': nonce,
      'X-Admin-Signature': signature,
    })
  })

  it('covers path and authority unless the policy requires version 1, which covers neither', async () => {
    const signingTime = { timestamp: TIMESTAMP, nonce: '5b0c0f0e-1c1d-4e2f-8a3b-000000000003' }
    const sign = async (id: string, admin_signature_version: number): Promise<string> => {
      const request = {
        operation: operation(id),
        network: { ...network, admin_signature_version },
        values: { attestation_id: 'a', treaty_id: 'a' },
        body: '{}',
        audience: AUDIENCE,
      }
      return (await signRequest(request, await operator, signingTime))['X-Admin-Signature']
    }
    const [treaty, attestation] = ['treaties-revoke-treaty', 'attestations-revoke-attestation']
    expect(await sign(treaty ?? '', 1)).toBe(await sign(attestation ?? '', 1))
    expect(await sign(treaty ?? '', 2)).not.toBe(await sign(attestation ?? '', 2))
  })

  it('is refused for a body that two parsers could read differently', () => {
    for (const text of ['{"a":1,"a":2}', '[]', '{"a":1e999}', '{} {}', '']) expect(() => readBody(text)).toThrow(Error)
  })
})

describe('the target', () => {
  it('has every value once, encoded, and the network name as one segment', () => {
    const search = operation('evidence_store-search')
    expect(gatewayTarget(search, 'a/b é', { capability: 'a b&c', limit: '', outcome: 'allow' })).toBe(
      '/v1/networks/a%2Fb%20%C3%A9/services/evidence_store-search?capability=a+b%26c&outcome=allow',
    )
  })

  it('has a decoded path at the authority for any value', () => {
    expect(authorityPath(operation('evidence_store-resource-head'), { resource_id: '$&/{x}' })).toBe(
      '/admin/evidence/resource-heads/$&/{x}',
    )
  })

  it('and the body identify the request that pasted headers belong to', () => {
    const revoke = operation('treaties-revoke-treaty')
    const covered = coveredBy(revoke, 'n', { treaty_id: 't' }, '{}')
    expect(coveredBy(revoke, 'n', { treaty_id: 't' }, '{ }')).not.toBe(covered)
    expect(coveredBy(revoke, 'n', { treaty_id: 'u' }, '{}')).not.toBe(covered)
    expect(coveredBy(revoke, 'm', { treaty_id: 't' }, '{}')).not.toBe(covered)
  })
})
