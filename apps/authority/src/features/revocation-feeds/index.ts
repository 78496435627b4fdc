export { publishOwnFeed } from './publish.ts'
export { isImportedRevocation, listImportedRevocations, listNewestFeeds } from './store.ts'
export type { NewestFeed } from './store.ts'
