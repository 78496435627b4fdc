/**
 * Evidence packs, decision bundles, receipts, exports and past states: import it as `@chancery/sdk/evidence`. It runs in
 * browsers, uses no module of Node.js and sends no requests.
 */
export { readPack, writePack } from '../evidence-pack/format.ts'
export type {
  EvidencePack,
  PackContents,
  PackExecutorKey,
  PackLog,
  PackProof,
  PackRecords,
} from '../evidence-pack/format.ts'
export { verifyPack } from '../evidence-pack/check.ts'
export type { EvidencePackReport, PackCheck, PackCheckName, PackTrust } from '../evidence-pack/report.ts'
export { explainPack } from '../evidence-pack/explain.ts'
export type { PackReason, PackStory } from '../evidence-pack/explain.ts'
export { writePackPage } from '../evidence-pack/page.ts'
export { createPack } from '../evidence-pack/assemble.ts'
export type { PackParts } from '../evidence-pack/assemble.ts'
export { replayPack } from '../evidence-pack/replay.ts'
export type { AskCedar } from '../evidence-pack/replay.ts'
export { readBundle, writeBundle } from '../decision-bundle/format.ts'
export type { BundleForm } from '../decision-bundle/format.ts'
export { verifyBundle } from '../decision-bundle/check.ts'
export type { BundleReason, BundleVerdict } from '../decision-bundle/check.ts'
export { verifyPast } from '../trust-history/verify-pack.ts'
export type { PastOptions } from '../trust-history/verify-pack.ts'
export { verifyAnchors, verifyExport, verifyReceipt } from './verify-files.ts'
export type { AnchorsVerdict, ExportVerdict, ReceiptVerdict, StoreTrust } from './verify-files.ts'
export type { Time } from '../trust/signing-time.ts'
export type { NetworkIdentity } from '../trust/identity.ts'
export type * from '../record-types.ts'
