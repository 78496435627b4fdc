import {
  PROOF_V1,
  PROOF_V2,
  contentDigest,
  seconds,
  signatureBase,
  toBase64,
  toUtf8,
  writeJson,
  writeProofParameters,
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
  const profile = attestation === undefined ? PROOF_V1 : PROOF_V2
  const created = Number(proof.now / seconds(1))
  const nonce = proof.nonce ?? crypto.randomUUID()
  const parameters = writeProofParameters({ created, nonce, keyId: certificate.cert_id }, profile)
  const signature = await signer.sign(signatureBase({ method, target }, covered, parameters, profile))
  return { ...covered, 'signature-input': `node=${parameters}`, signature: `node=:${toBase64(signature)}:` }
}

function carry(record: JsonValue): string {
  return `:${toBase64(toUtf8(writeJson(record)))}:`
}
