import { type JsonObject, type JsonValue, digestOf, isJsonObject, member, readJson } from '@chancery/protocol'
import { UsageError } from '../errors.ts'

/** One call of a tool, as a decision and its evidence name it. */
export interface ToolCall {
  /** The name of the server in capabilities. */
  readonly server: string
  readonly tool: string
  readonly arguments: JsonObject
  /** What the caller sent besides the arguments: `inputResponses`, `requestState`, `task`. In the digest only. */
  readonly input?: JsonObject
  /** `_meta` of the call: a server may act on it. In a separate digest only, because it differs in every call. */
  readonly meta?: JsonObject
  /** Arguments that policies may read. The others are in the digest only. */
  readonly named?: readonly string[]
  /** Of the definition of the tool, see {@link toolDigest}. */
  readonly schemaDigest?: string
}

/** The member of the parameters that describes the call. An argument of this name is in the digest only. */
const RESERVED = 'mcp'

const SERVER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
const MAX_CAPABILITY = 256

/** Throws unless the name can be part of a capability. */
export function requireServerName(server: string): void {
  if (!SERVER_NAME.test(server))
    throw new UsageError('the name of a server has up to 64 letters, digits, dots, underscores and hyphens')
}

/** Returns the capability that a call of this tool needs. */
export function toolCapability(server: string, tool: string): string {
  const capability = `mcp:${server}:${tool}`
  if (tool === '' || capability.length > MAX_CAPABILITY) throw new UsageError('the name of the tool is empty or long')
  return capability
}

/** Returns the parameters of the decision and of its evidence: named arguments, and digests of all that the caller sent. */
export function toolParameters(call: ToolCall): JsonObject {
  const { server, tool, arguments: given, input = {}, meta = {}, named = [], schemaDigest } = call
  const shown = named
    .filter((name) => name !== RESERVED)
    .flatMap((name) => {
      const value = member(given, name)
      return value === undefined ? [] : [[name, value] as const]
    })
  return {
    ...Object.fromEntries(shown),
    [RESERVED]: {
      server,
      tool,
      arguments_digest: digestOf(given),
      ...(Object.keys(input).length === 0 ? {} : { input_digest: digestOf(input) }),
      ...(Object.keys(meta).length === 0 ? {} : { meta_digest: digestOf(meta) }),
      ...(schemaDigest === undefined ? {} : { schema_digest: schemaDigest }),
    },
  }
}

/**
 * Returns the digest of a tool as `tools/list` shows it: name, description, schemas and annotations. It changes when
 * a model would read something else than what was approved. `_meta` is not part of it.
 */
export function toolDigest(tool: JsonObject): string {
  return digestOf(Object.fromEntries(Object.entries(tool).filter(([name]) => name !== '_meta')))
}

/**
 * Returns the members of an object as JSON; a number with a fraction stays one. Throws for what JSON would lose, because
 * its digest would be that of other values: 1e400 becomes null, a Map becomes {}.
 */
export function toArguments(given: unknown): JsonObject {
  const json: JsonValue = readJson(JSON.stringify(given, refuseLost) ?? 'null')
  if (!isJsonObject(json)) throw new UsageError('the tool was not called: its arguments are not an object')
  return json
}

function refuseLost(_name: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new UsageError('the tool was not called: a number of the call is not finite')
  const isLost = typeof value === 'object' ? isUnreadable(value) : LOST.has(typeof value)
  if (isLost) throw new UsageError('the tool was not called: a value of the call has no form in JSON')
  return value
}

const LOST: ReadonlySet<string> = new Set(['function', 'symbol', 'bigint'])

/** True for objects of a class without `toJSON`, such as a Map. Objects of other realms count as plain. */
function isUnreadable(value: object | null): boolean {
  if (value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype !== null && Object.getPrototypeOf(prototype) !== null
}
