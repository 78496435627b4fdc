export { judgeTreaty, pinnedKeys } from './judge.ts'
export { listTreatyFacts, listTreatyTexts } from './store.ts'
