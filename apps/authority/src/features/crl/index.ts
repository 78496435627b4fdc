export { relistEntries } from './relist.ts'
export { findActiveVersion } from './store.ts'
export type { CrlVersion } from './store.ts'
