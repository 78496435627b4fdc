import {
  PROOF_V1,
  PROOF_V2,
  contentDigest,
  seconds,
  signatureBase,
  toBase64,
  toUtf8,
  wimseBase,
  wimseComponents,
  withAuthorization,
  writeJson,
  writeProofParameters,
  writeWimseParameters,
} from '@chancery/protocol'
import type { Attestation, Instant, JoinCertificate, JsonValue, ProofHeaders, Signer } from '@chancery/protocol'

/** A request proof as it is made: of profile v2 with an attestation. Any target can be signed, also a malformed one. */
export interface TestProof {
  readonly method: string
  readonly target: string
  readonly body?: string | Uint8Array
  readonly audience: string
  readonly certificate: JoinCertificate
  readonly attestation?: Attestation | undefined
  readonly signer: Signer
  readonly now: Instant
  readonly nonce?: string
  /** With it the proof covers this field. */
  readonly authorization?: string
}

export async function testProof(proof: TestProof): Promise<ProofHeaders> {
  const { method, target, certificate, attestation, signer } = proof
  const body = typeof proof.body === 'string' ? toUtf8(proof.body) : (proof.body ?? new Uint8Array())
  const covered = {
    'content-digest': contentDigest(body),
    'chancery-audience': proof.audience,
    'chancery-certificate': carry(certificate),
    ...(attestation === undefined ? {} : { 'chancery-attestation': carry(attestation) }),
  }
  const { authorization } = proof
  const plain = attestation === undefined ? PROOF_V1 : PROOF_V2
  const profile = authorization === undefined ? plain : withAuthorization(plain)
  const created = Number(proof.now / seconds(1))
  const nonce = proof.nonce ?? crypto.randomUUID()
  const parameters = writeProofParameters({ created, nonce, keyId: certificate.cert_id }, profile)
  const signature = await signer.sign(
    signatureBase(
      { method, target },
      { ...covered, ...(authorization === undefined ? {} : { authorization }) },
      parameters,
      profile,
    ),
  )
  return { ...covered, 'signature-input': `node=${parameters}`, signature: `node=:${toBase64(signature)}:` }
}

/** A proof of WIMSE as it is made. */
export async function testWimseProof(
  proof: Omit<TestProof, 'attestation' | 'authorization' | 'certificate'> & {
    readonly wit: string
    /** Other fields of the request. */
    readonly fields?: Readonly<Record<string, string>>
  },
): Promise<Record<string, string>> {
  const { method, target, audience, signer, wit } = proof
  const body = typeof proof.body === 'string' ? toUtf8(proof.body) : (proof.body ?? new Uint8Array())
  const digest = body.length === 0 ? {} : { 'content-digest': contentDigest(body) }
  const fields = { ...proof.fields, ...digest, 'workload-identity-token': wit }
  const components = wimseComponents(fields)
  const created = Number(proof.now / seconds(1))
  const nonce = proof.nonce ?? crypto.randomUUID()
  const parameters = writeWimseParameters(components, { created, expires: created + 60, nonce, audience })
  const signature = toBase64(await signer.sign(wimseBase({ method, target }, fields, components, parameters)))
  return { ...fields, 'signature-input': `wimse=${parameters}`, signature: `wimse=:${signature}:` }
}

function carry(record: JsonValue): string {
  return `:${toBase64(toUtf8(writeJson(record)))}:`
}
