import { checkCrl, checkGenesis, checkHistory, checkMetadata, checkSuccession } from './check-material.ts'
import { checkFeed, checkIndex, checkPart } from './check-feed.ts'
import { checkTreaties } from './check-treaties.ts'

/** Checks that run on the event loop or in another thread. */
export const CHECKS = {
  genesis: checkGenesis,
  history: checkHistory,
  metadata: checkMetadata,
  succession: checkSuccession,
  feed: checkFeed,
  index: checkIndex,
  part: checkPart,
  crl: checkCrl,
  treaties: checkTreaties,
} as const
