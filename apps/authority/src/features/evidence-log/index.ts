export { LogKeeper } from './keeper.ts'
