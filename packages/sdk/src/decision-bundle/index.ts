/**
 * Decisions in DSSE envelopes and Sigstore bundles: import it as `@chancery/sdk/verify/bundle`. It runs in browsers,
 * uses no module of Node.js and sends no requests.
 */
export {
  BUNDLE_FORMS,
  DecisionBundleError,
  MAX_BUNDLE_LENGTH,
  readDecisionBundle,
  readDsseEnvelope,
  writeDecisionBundle,
} from './format.ts'
export type { BundleForm } from './format.ts'
export { checkDecisionBundle } from './check.ts'
export type { BundleReason, BundleVerdict } from './check.ts'
