import { type JsonObject, visible, writeJson } from '@chancery/protocol'
import type { Options } from '../../arguments/options.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError } from '../../errors/failure.ts'
import { type Result, table } from '../../output/screen.ts'
import {
  LEGACY_VERSION,
  MODERN_VERSION,
  digestsOf,
  listLegacy,
  listModern,
  loadPins,
  storePins,
} from './known-tools.ts'
import type { Lister, Pins } from './known-tools.ts'
import { type HeaderFields, type Upstream, findResponse, openHome, openUpstream, readTarget } from './upstream.ts'
import { ServerProcess } from './stdio.ts'

/** A package runner may download the server first. */
const START_MS = 60_000
/** A server of an earlier revision may ignore a request before the handshake. */
const PROBE_MS = 3000

type List = (lister: Lister) => Promise<readonly JsonObject[] | undefined>

/** `agent guard-mcp --pin`: stores the digests of the tools as the server describes them now. */
export async function pinTools(context: CommandContext, words: readonly string[], options: Options): Promise<Result> {
  const target = readTarget(words, options)
  const home = await openHome(context, options, target)
  const { pinsFile, server } = home
  const pins = await readEras((list, ms) => {
    if ('words' in target) return listByProcess(context, target.words, list, ms)
    return listByHttp(openUpstream(context, home, target.upstream, options), list)
  })
  const before = await loadPins(pinsFile)
  await storePins(pinsFile, pins)
  const rows = [...new Set([...pins.keys(), ...before.keys()])].toSorted().map((tool) => {
    const [old, current] = [before.get(tool), pins.get(tool)]
    return [visible(tool), stateOf(old, current), current?.[0] ?? '-']
  })
  const data = { server, file: pinsFile, tools: Object.fromEntries(pins) as JsonObject }
  const text = `${table(['TOOL', 'STATE', 'DIGEST'], rows, context.style)}\nPinned ${pins.size} tools of ${server}.`
  return { data, text, ids: [...pins.keys()] }
}

function stateOf(old: readonly string[] | undefined, current: readonly string[] | undefined): string {
  if (current === undefined) return 'removed'
  if (old === undefined) return 'new'
  return old.join() === current.join() ? 'unchanged' : 'changed'
}

/** Lists in both eras. One of them must work. */
async function readEras(list: (list: List, ms: number) => Promise<readonly JsonObject[] | undefined>): Promise<Pins> {
  const pins = new Map<string, string[]>()
  let isListed = false
  for (const era of [listLegacy, listModern]) {
    const tools = await list(era, isListed ? PROBE_MS : START_MS)
    const digests = tools === undefined ? undefined : digestsOf(tools)
    isListed ||= digests !== undefined
    for (const [tool, digest] of digests ?? []) pins.set(tool, [...new Set([...(pins.get(tool) ?? []), digest])])
  }
  if (isListed) return pins
  const message = 'The server did not list its tools.'
  throw new CommandError({ code: 'no_tools', message, hint: 'Run its command alone to find out why.' })
}

async function listByProcess(
  context: CommandContext,
  words: readonly string[],
  list: List,
  ms: number,
): Promise<readonly JsonObject[] | undefined> {
  const server = new ServerProcess(words, { context, onMessage: () => undefined })
  const failed = server.ended.then(() => undefined)
  const lister: Lister = {
    ask: (method, params) => server.ask(method, params),
    notify: async (method) => server.send({ jsonrpc: '2.0', method }),
  }
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, ms, undefined).unref())
  try {
    return await Promise.race([list(lister), failed, late])
  } finally {
    await server.end()
  }
}

/** The session of the earlier revisions is a header of the response to the handshake. */
async function listByHttp(upstream: Upstream, list: List): Promise<readonly JsonObject[] | undefined> {
  const isModern = list === listModern
  const version = { 'mcp-protocol-version': isModern ? MODERN_VERSION : LEGACY_VERSION }
  let caller: HeaderFields = isModern ? { ...version, 'mcp-method': '' } : {}
  const accept = { accept: 'application/json, text/event-stream' }
  const send = async (body: JsonObject): Promise<JsonObject | undefined> => {
    const bytes = Buffer.from(writeJson(body))
    const response = await upstream.send('POST', { ...caller, ...accept }, bytes, AbortSignal.timeout(START_MS))
    const session = response.headers['mcp-session-id']
    if (typeof session === 'string') caller = { ...version, 'mcp-session-id': session }
    return (await findResponse(response, 'hello'))?.result
  }
  return list({
    ask: async (method, params) => {
      if (method !== 'initialize') return upstream.ask(caller, method, params)
      const result = await send({ jsonrpc: '2.0', id: 'hello', method, params }).catch(() => undefined)
      if (!isModern && !Object.hasOwn(caller, 'mcp-session-id')) caller = version
      return result
    },
    notify: async (method) => void (await send({ jsonrpc: '2.0', method })),
  })
}
