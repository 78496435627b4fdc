/**
 * The Model Context Protocol: import it as `@chancery/sdk/mcp`. It needs none of the MCP packages at run time; its types
 * fit theirs.
 */
export { APPROVAL_META, DECISION_META, deniedResult, denialText, missingArguments, refusedResult } from './denial.ts'
export type { DeniedDecision, DeniedResult } from './denial.ts'
export { DecisionUnavailableError, governTools, outcomeOf, runToolCall } from './govern-tools.ts'
export type {
  GovernTool,
  GovernToolsOptions,
  GovernedToolCall,
  GovernedToolOptions,
  NoInputOptions,
  ToolBasis,
  ToolCallOutcome,
} from './govern-tools.ts'
export { HeldCalls } from './held-calls.ts'
export { mcpNodeProof } from '../nodejs/mcp-proof.ts'
export type { McpNodeHandler } from '../nodejs/mcp-proof.ts'
export { mcpCaller, mcpFetch, mcpWebProof } from './proof.ts'
export type { McpAuthInfo, McpWebHandler, OriginOptions } from './proof.ts'
export { requireServerName, toolCapability, toolDigest, toolParameters } from './tool-call.ts'
export type { ToolCall } from './tool-call.ts'
export type * from '../record-types.ts'
