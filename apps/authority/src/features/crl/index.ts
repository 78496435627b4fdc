export { FIRST_LIST_HOURS, SuccessionRefused, draftFirstList, succeedKey } from './succeed.ts'
export { redateList, relistEntries } from './relist.ts'
export { findActiveVersion } from './store.ts'
export type { CrlVersion } from './store.ts'
