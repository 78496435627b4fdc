/**
 * The library under the names of other libraries of this protocol: import it as `@chancery/sdk/compat`. Requests,
 * responses and checks are those of this library; docs/client-library.md lists what differs.
 */
export { buildPath, createCompatClient } from './client.ts'
export type { ExistingClient, RawTransport } from './client.ts'
export { withExistingNames } from './names.ts'
export type { ExistingNames } from './names.ts'
export type { ExistingOptions, ExistingSigner } from './options.ts'
export * from './signing.ts'
export * from './offline.ts'
export * from './strictness.ts'
export * from './reconcile.ts'
export * from './governed.ts'
export { isContention as isRetryableConflict } from '../http/retry.ts'
export {
  BadRequestError,
  ConflictError,
  ForbiddenError,
  NotFoundError,
  RateLimitError,
  ServiceUnavailableError,
  UnauthorizedError,
  ChanceryError as GovernedActionError,
  UnreachableError as NetworkError,
  UsageError as MetadataRefusedError,
  ValidationError,
  VerificationError as DecisionVerificationError,
} from '../errors.ts'
export { summarizeDecision } from './summary.ts'
export { EvidenceNotStoredError } from '../governed/errors.ts'
export { MemoryOutbox } from '../governed/outbox.ts'
export { JsonError as StrictJsonError, canonicalJson, policySetDigest, seedSigner, sha256Hex } from '@chancery/protocol'
export type * from '../record-types.ts'
