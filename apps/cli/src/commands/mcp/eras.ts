import type { JsonObject } from '@chancery/protocol'
import { type AskServer, allTools } from './known-tools.ts'

export const LEGACY_VERSION = '2025-11-25'
export const MODERN_VERSION = '2026-07-28'

const CLIENT = { name: 'chancery-guard', version: '1' } as const

/** The members that every request of the current revision has. */
export const MODERN_META: JsonObject = {
  'io.modelcontextprotocol/protocolVersion': MODERN_VERSION,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': CLIENT,
}

/** One connection to a server. */
export interface Lister {
  readonly ask: AskServer
  /** Sends a notification. */
  readonly notify: (method: string) => Promise<void>
}

/** Lists the tools after the handshake of the earlier revisions; undefined when the server refuses it. */
export async function listLegacy({ ask, notify }: Lister): Promise<readonly JsonObject[] | undefined> {
  const hello = { protocolVersion: LEGACY_VERSION, capabilities: {}, clientInfo: CLIENT }
  if ((await ask('initialize', hello)) === undefined) return undefined
  await notify('notifications/initialized')
  return allTools(ask, undefined)
}

/** Lists the tools in the form of the current revision; undefined when the server does not have it. */
export function listModern({ ask }: Lister): Promise<readonly JsonObject[] | undefined> {
  return allTools(ask, MODERN_META)
}
