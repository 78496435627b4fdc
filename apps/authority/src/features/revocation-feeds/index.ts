export { publishOwnFeed } from './publish.ts'
export { isImportedRevocation, listNewestFeeds, readFeedStanding } from './store.ts'
export type { NewestFeed } from './store.ts'
