/**
 * Verification without a network: import it as `@chancery/sdk/verify`. It runs in browsers, uses no module of Node.js
 * and does not load the rest of the library.
 */
export * from './records.ts'
export type {
  CheckedPart,
  ProvedRecord,
  RecordKindName,
  RecordsByKind,
  RefusedRecord,
  Unproven,
} from '@chancery/protocol'
// Only this reader preserves the form of numbers: JSON.parse makes 90 of 90.0, and then the signature is invalid.
export { JsonFloat, readJson, writeJson } from '@chancery/protocol'
export { RelyingParty } from './relying-party.ts'
export type {
  CertificateVerdict,
  InstallRefusal,
  IssuerPins,
  Listed,
  NetworkPins,
  OfferedList,
} from './relying-party.ts'
export { UntrustedError } from '../gateway/verdict.ts'
export type { TrustVerdict } from '../gateway/verdict.ts'
export { MemoryNonceStore } from '../request-proof/nonces.ts'
export type { NonceStore } from '../request-proof/nonces.ts'
export { verifyRequest } from '../request-proof/verify.ts'
export type {
  AttestedProofs,
  IncomingRequest,
  NodeCaller,
  ProofPolicy,
  ProofRefusal,
  ProofVerdict,
  ReceivedProof,
} from '../request-proof/verify.ts'
export { PROOF_FIELDS } from '@chancery/protocol'
export type { ProofField, ProofHeaders } from '@chancery/protocol'
export type * from '../record-types.ts'
