export { growLog } from './grow.ts'
export { LogKeeper } from './keeper.ts'
