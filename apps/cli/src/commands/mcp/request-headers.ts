import type { IncomingHttpHeaders } from 'node:http'
import { JsonFloat, type JsonObject, type JsonValue, isJsonObject, member } from '@chancery/protocol'
import { MODERN_VERSION } from './eras.ts'
import type { KnownTool } from './known-tools.ts'
import type { ClientMessage } from './messages.ts'

/** Requests whose target is in the header `Mcp-Name`. */
const NAMED: ReadonlySet<string> = new Set(['tools/call', 'resources/read', 'prompts/get'])

/** Returns the version that a request of the current revision names. */
export function versionOf(params: JsonObject): JsonValue | undefined {
  const meta = member(params, '_meta')
  return isJsonObject(meta) ? member(meta, 'io.modelcontextprotocol/protocolVersion') : undefined
}

/** Returns the header that names another version, method or target than the body. */
export function wrongHeader(
  headers: IncomingHttpHeaders,
  { kind, method, params }: Extract<ClientMessage, { readonly method: string }>,
): string | undefined {
  const version = versionOf(params)
  const [sent, named, target] = ['mcp-protocol-version', 'mcp-method', 'mcp-name'].map((name) => headers[name])
  const isModern = version !== undefined
  // Only requests name the version in the body, and only since this revision.
  const isUnnamed = kind === 'request' && sent !== undefined && sent >= MODERN_VERSION
  if (isModern ? sent !== version : isUnnamed) return 'MCP-Protocol-Version'
  if (named === undefined ? isModern : named !== method) return 'Mcp-Method'
  const expected = member(params, targetMember(method))
  const isMissing = isModern && NAMED.has(method)
  return (target === undefined ? isMissing : decodeHeader(target) !== expected) ? 'Mcp-Name' : undefined
}

function targetMember(method: string): string {
  if (method.startsWith('tasks/')) return 'taskId'
  return method === 'resources/read' ? 'uri' : 'name'
}

/** Returns the `Mcp-Param-` header that differs from its argument, or that the schema of the tool does not name. */
export function wrongParam(
  headers: IncomingHttpHeaders,
  expected: KnownTool['headers'],
  { given, isModern }: { readonly given: JsonObject; readonly isModern: boolean },
): string | undefined {
  const unknown = Object.keys(headers).find((name) => name.startsWith('mcp-param-') && !expected.has(name))
  if (unknown !== undefined) return unknown
  const wrong = [...expected].find(([name, path]) => {
    const value = path.reduce<JsonValue | undefined>(
      (within, key) => (isJsonObject(within) ? member(within, key) : undefined),
      given,
    )
    const [header, text] = [headers[name], headerText(value)]
    return header === undefined ? isModern && text !== undefined : decodeHeader(header) !== text
  })
  return wrong?.[0]
}

/** Returns an argument as a header has it; undefined for one that has no such form. */
function headerText(value: JsonValue | undefined): string | undefined {
  if (value instanceof JsonFloat) return String(value.value)
  return value === undefined || typeof value === 'object' ? undefined : String(value)
}

/** Returns the text of a header; undefined for base64 that two readers could decode differently. */
function decodeHeader(header: string | string[]): string | undefined {
  const value = String(header)
  const [, encoded] = /^=\?base64\?(.*)\?=$/.exec(value) ?? []
  if (encoded === undefined) return value
  const bytes = Buffer.from(encoded, 'base64')
  const text = bytes.toString('utf8')
  return bytes.toString('base64') === encoded && Buffer.from(text).equals(bytes) ? text : undefined
}
