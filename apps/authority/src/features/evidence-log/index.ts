export { findLogFault } from './continuity.ts'
export { LogKeeper } from './keeper.ts'
export { signCheckpointAgain } from './sign-again.ts'
