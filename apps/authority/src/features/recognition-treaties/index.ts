export { judgeTreaty, pinnedKeys } from './judge.ts'
