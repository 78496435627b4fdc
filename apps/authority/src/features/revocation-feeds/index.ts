export { publishOwnFeed } from './publish.ts'
export { findOldestImport, isImportedRevocation, listNewestFeeds } from './store.ts'
export type { NewestFeed } from './store.ts'
