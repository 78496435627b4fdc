/**
 * Past states: import it as `@chancery/sdk/verify/history`. It runs in browsers, uses no module of Node.js and sends no
 * requests.
 */
export { MAX_HISTORY_LINE, TrustHistoryError, readHistoryLine, verifyPast, verifyPastOfPack } from './verify-pack.ts'
