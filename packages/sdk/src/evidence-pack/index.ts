/**
 * Evidence packs: import it as `@chancery/sdk/verify/pack`. It runs in browsers, uses no module of Node.js and sends
 * no requests.
 */
export {
  EVIDENCE_PACK_FORMAT,
  EVIDENCE_PACK_VERSION,
  MAX_PACK_LENGTH,
  EvidencePackError,
  isEvidencePack,
  readEvidencePack,
  sealPack,
  writeEvidencePack,
} from './format.ts'
export type { EvidencePack, PackContents, PackExecutorKey, PackLog, PackProof, PackRecords } from './format.ts'
export { checkEvidencePack } from './check.ts'
export type { EvidencePackReport, PackCheck, PackCheckName, PackTrust } from './report.ts'
export { PACK_CHECK_WORDS, explainEvidencePack } from './explain.ts'
export type { PackReason, PackStory } from './explain.ts'
export { isEvidencePage, isPageOf, readEmbedded, readEvidencePage, writeEvidencePage } from './page.ts'
export { assembleEvidencePack } from './assemble.ts'
export type { PackParts } from './assemble.ts'
export { namedTexts, namedTreaty } from './check-basis.ts'
