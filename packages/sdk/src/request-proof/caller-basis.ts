import { type Attestation, attestationInProof, coversAuthorization, readRequestProof } from '@chancery/protocol'
import { UsageError } from '../errors.ts'
import type { Caller } from './caller.ts'

/** What a service sends to its authority to ask for its caller. */
export type CallerBasis = {
  /** The attestation of a partner. */
  readonly presented?: {
    readonly attestation: Attestation
    readonly issuer_sovereign_id: string
    readonly treaty_id?: string
  }
  /** The attestation of the own network. */
  readonly attestation_id?: string
  readonly on_behalf_of: {
    readonly method: string
    readonly request_target: string
    readonly content_digest: string
    readonly audience: string
    readonly certificate: string
    readonly attestation: string | null
    readonly signature_input: string
    readonly signature: string
  }
}

export interface CallerBasisOptions {
  /** The network of the service: an attestation of this network is named by its id. */
  readonly sovereign?: string
  /** Only this treaty of the authority is considered. */
  readonly treaty_id?: string
  /** For a caller with a proof of profile v1: the id of its attestation in the own network. */
  readonly attestation_id?: string
}

/** The caller of a request as the basis of a decision. The proof is handed over as it came: the authority checks it again. */
export function callerBasis(
  { attestation: read, proof: { method, target, headers } }: Caller,
  { sovereign, treaty_id, attestation_id }: CallerBasisOptions = {},
): CallerBasis {
  if (headers['chancery-certificate'] === '')
    throw new UsageError(
      'a proof of WIMSE cannot be handed to the authority: the caller must use the proof of Chancery',
    )
  if (coversAuthorization(headers['signature-input']))
    throw new UsageError('the proof covers Authorization, which is not sent to the authority')
  const on_behalf_of = {
    method,
    request_target: target,
    content_digest: headers['content-digest'],
    audience: headers['chancery-audience'],
    certificate: headers['chancery-certificate'],
    attestation: headers['chancery-attestation'] ?? null,
    signature_input: headers['signature-input'],
    signature: headers.signature,
  }
  if (read === undefined) {
    if (attestation_id === undefined) throw new UsageError('the caller sent no attestation: name one by its id')
    return { attestation_id, on_behalf_of }
  }
  const { issuer_sovereign_id } = read
  if (issuer_sovereign_id === sovereign) return { attestation_id: read.attestation_id, on_behalf_of }
  const proof = readRequestProof(headers)
  // The record as it came, with the numbers as they were written: another spelling would be another record.
  const wire = proof === undefined ? undefined : attestationInProof(proof)?.wire
  const attestation = (wire ?? read) as Attestation
  const treaty = treaty_id === undefined ? {} : { treaty_id }
  return { presented: { attestation, issuer_sovereign_id, ...treaty }, on_behalf_of }
}
