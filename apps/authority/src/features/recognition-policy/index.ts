export { prepare } from './cache.ts'
export type { ReadyPolicy } from './cache.ts'
