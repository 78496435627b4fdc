export { publishOwnFeed } from './publish.ts'
export { isImportedRevocation, listNewestFeeds } from './store.ts'
export type { NewestFeed } from './store.ts'
