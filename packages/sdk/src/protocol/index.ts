/** Proofs, forms and readers of the protocol for programs that speak it themselves: `@chancery/sdk/protocol`. */
export { signRequest } from '../request-proof/sign.ts'
export type { ProofIdentity } from '../request-proof/sign.ts'
export type { RequestToSign } from '../request-proof/target.ts'
export { signResponse } from '../request-proof/response.ts'
export type { ResponseSigner, ResponseToSign } from '../request-proof/response.ts'
export {
  PROOF_FIELDS,
  canonicalJson,
  digestOf,
  readAgentDescriptor,
  readAttestation,
  readGenesisBlock,
  readJoinCertificate,
  readKeyHistory,
  readPolicyManifest,
  readPrivateKeyFile as parsePrivateKey,
  readRevocationFeed,
  readRevocationList,
  readRecognitionTreaty as readTreaty,
  signAgentDelete,
  signNodeProof,
  signOperatorRequest,
} from '@chancery/protocol'
export type {
  KeyFile,
  NodeAction,
  OperatorHeaders,
  OperatorRequest,
  ProofField,
  ProofHeaders,
} from '@chancery/protocol'
export type * from '../record-types.ts'
