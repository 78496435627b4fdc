export { findEnds, listLastEnds } from './ends.ts'
export { countsHere, judgeTreaty, pinnedKeys } from './judge.ts'
export { vouchedKeys } from './vouch.ts'
