export { findEnds, listLastEnds } from './ends.ts'
export { countsHere, judgeTreaty, pinnedKeys } from './judge.ts'
export { markTreatyRevoked } from './store.ts'
export { vouchedKeys } from './vouch.ts'
