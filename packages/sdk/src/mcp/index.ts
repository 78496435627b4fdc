/**
 * The Model Context Protocol: import it as `@chancery/sdk/mcp`. It needs none of the MCP packages at run time; its types
 * fit theirs.
 */
export { authInfoOf, callerOf, createMcpFetch } from './auth-info.ts'
export type { McpAuthInfo } from './auth-info.ts'
export { HeldCalls } from './held-calls.ts'
export { governServer } from './govern-server.ts'
export type { GovernServerOptions } from './govern-server.ts'
export { toolCapability, toolDigest } from '../governed/tool-call.ts'
export type { Governor } from '../governed/governor.ts'
export type { AskBasis } from '../node/decider.ts'
export type { Caller } from '../request-proof/caller.ts'
export type { SigningFetch } from '../request-proof/sign.ts'
export type { JsonObject } from '@chancery/protocol'
