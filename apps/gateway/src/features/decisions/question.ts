import type { AgreementRecord, Attestation, JoinCertificate, JsonObject } from '@chancery/protocol'
import type { DecisionPolicy, NetworkPolicy } from '../../policy/policy.ts'

/** A network whose authority is asked. */
export type DecidingNetwork = NetworkPolicy & { readonly decisions: DecisionPolicy }

export function isDeciding(network: NetworkPolicy): network is DecidingNetwork {
  return network.decisions !== undefined
}

/** An attestation of another network, which the authority that decides checks under its treaty with that network. */
export type PresentedAttestation = {
  readonly attestation: Attestation
  readonly issuer_sovereign_id: string
}

/** One question for the authority of a network. */
export interface Question {
  readonly network: DecidingNetwork
  readonly basis:
    | { readonly attestation_id: string }
    | { readonly agreement: AgreementRecord }
    | { readonly presented: PresentedAttestation }
  readonly capability: string
  readonly requester: string | undefined
  readonly parameters: JsonObject
  readonly attributes: JsonObject
  /** The request proof of the caller, for a relay. */
  readonly proof: JsonObject | undefined
  /** The certificate of the caller. It must be trusted before anything is asked or reused. */
  readonly certificate: JoinCertificate | undefined
  /** The gateway itself verified the certificate for this request, and spent the proof. */
  readonly isCallerVerified?: true
  readonly showsJustification: boolean
}

/** A denial that needs no authority. */
export interface LocalDenial {
  readonly denied: 'subject_unknown' | 'certificate_untrusted'
}
