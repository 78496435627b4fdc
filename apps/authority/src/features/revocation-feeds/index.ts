export { publishOwnFeed } from './publish.ts'
export { findOldestImport, findOwnFeed, isImportedRevocation, listNewestFeeds } from './store.ts'
export type { NewestFeed } from './store.ts'
