export { findEnds, listLastEnds } from './ends.ts'
export { judgeTreaty, pinnedKeys } from './judge.ts'
export { vouchedKeys } from './vouch.ts'
