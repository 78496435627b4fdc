import type * as Protocol from '../index.ts'
import { type Case, type Problem, type TrustVectors, differs, exampleOf, keyOf } from './cases.ts'

/** E4: one signed body, two records; members outside it change nothing, and every member inside it counts. */
export function agreementCases(vectors: TrustVectors, protocol: typeof Protocol): Case[] {
  const counter = { expires_at: '2027-03-05T00:00:00Z' }
  const record = { ...counter, agreement_id: 'any', established_at: '2027-03-04T05:06:07Z' }
  return [
    { name: 'E4 as a counter', run: () => sharedBody(vectors, protocol, protocol.capabilityCounterForm, counter) },
    { name: 'E4 as a record', run: () => sharedBody(vectors, protocol, protocol.agreementRecordForm, record) },
  ]
}

async function sharedBody(
  vectors: TrustVectors,
  protocol: typeof Protocol,
  form: Protocol.RecordForm<object>,
  unsigned: Protocol.JsonObject,
): Promise<Problem> {
  const { bytes, sha256, signatures } = exampleOf(vectors, 'E4')
  const body = protocol.asJson(protocol.readJson(bytes) as object)
  const signed = signatures.map(({ key_id, sig }) => ({ key_id, sig }))
  const received = protocol.readReceived(form, { ...body, ...unsigned, stray: 1, signatures: signed })
  for (const { signer, sig, key_id } of signatures) {
    const { seed, public_key } = keyOf(vectors.keys, signer)
    if (!(await protocol.verifyReceived(received, [public_key])).ok) return `refused under ${signer}`
    const draft = protocol.readReceived(form, { ...body, ...unsigned })
    const sealed = await protocol.signForm(form, draft.record, await protocol.seedSigner(key_id, seed))
    const made = protocol.signaturesOf(protocol.asReceived(form, sealed))[0]
    const problem = differs(`${made?.key_id} ${made?.sig}`, `${key_id} ${sig}`)
    if (problem !== undefined) return problem
  }
  for (const name of Object.keys(body)) {
    const value = body[name]
    const changed = typeof value === 'string' ? `${value}x` : { ...protocol.asJson(value as object), more: 1 }
    const other = protocol.readReceived(form, { ...received.wire, [name]: changed })
    const verdict = await protocol.verifyReceived(
      other,
      vectors.keys.map((key) => key.public_key),
    )
    if (verdict.ok || verdict.reason !== 'invalid_signature') return `${name} does not count`
  }
  return differs(protocol.receivedDigest(received), sha256)
}

/** Digests of values without a separate signature. */
export function digestCases(vectors: TrustVectors, protocol: typeof Protocol): Case[] {
  const text = (name: string): Protocol.JsonValue => protocol.readJson(exampleOf(vectors, name).bytes)
  const sha256 = (name: string): string => exampleOf(vectors, name).sha256
  const context = (name: string): Case => ({
    name: `${name} is the digest of its context`,
    run: () => {
      const { record } = protocol.readReceived(protocol.contextRecordForm, text(name))
      return differs(protocol.contextDigest(record), sha256(name))
    },
  })
  return [
    {
      name: 'E1 is the digest of an empty graph',
      run: () => {
        const graph = protocol.buildGraph({ treaties: [], revocations: [], signedTreaty: () => null, now: 0n })
        return differs(protocol.digestOf(graph), sha256('E1'))
      },
    },
    context('E5'),
    context('E6'),
    {
      name: 'E8 is the digest of a policy set',
      run: () => {
        const policy = { policy_id: 'vendor-apps', version: 3, policy_digest: sha256('E7') }
        return differs(protocol.policySetDigest([policy]), sha256('E8'))
      },
    },
    {
      name: 'E9 is the digest of an attestation',
      run: () => {
        const attestation = protocol.readAttestation(text('E9'))
        const { signatures: _none, ...body } = attestation
        return differs(protocol.digestOf(body), sha256('E9'))
      },
    },
  ]
}
