import type { BaselineDocument } from './baseline-task.ts'
import { CONNECTIONS, HOST, REQUESTS_PER_SLICE_MAX, SIGNED_REQUESTS_PER_SECOND } from './conditions.ts'
import type { RequestPlan } from './load-task.ts'
import type { LoadGenerator } from './load.ts'
import type { ComparedServer } from './measure.ts'
import type { Server } from './servers.ts'

/** A server under one kind of request. */
export function comparedServer(
  name: string,
  server: Server,
  plan: RequestPlan,
  generator: LoadGenerator,
  more: readonly Server[] = [],
): ComparedServer {
  const morePorts = more.map(({ port }) => port)
  return {
    name,
    pid: server.pid,
    slice: (seconds) => {
      const signed = Math.ceil(SIGNED_REQUESTS_PER_SECOND * seconds)
      const maxRequests = plan.kind === 'operator' ? signed : REQUESTS_PER_SLICE_MAX
      const load = { connections: CONNECTIONS, seconds, maxRequests }
      return generator.run({ plan, host: HOST, port: server.port, morePorts, ...load })
    },
  }
}

/** The platform writes these itself, or they change in every response. */
const OWN_HEADERS: ReadonlySet<string> = new Set(['connection', 'content-length', 'date', 'keep-alive', 'x-request-id'])

/** A response of the product, which the baseline repeats. */
export async function copyDocument(
  server: Server,
  path: string,
  headers: { readonly [name: string]: string } = {},
): Promise<BaselineDocument> {
  const answer = await fetch(`http://${HOST}:${server.port}${path}`, { headers })
  const body = await answer.text()
  if (answer.status !== 200) throw new Error(`GET ${path} was answered with ${answer.status}: ${body}`)
  return { path, body, headers: Object.fromEntries([...answer.headers].filter(([name]) => !OWN_HEADERS.has(name))) }
}

/** Throws unless both give the same status, headers and body; only the two changing headers may differ. */
export async function requireSameResponse(
  product: Server,
  baseline: Server,
  path: string,
  sign: () => Promise<{ readonly [name: string]: string }> = async () => ({}),
): Promise<void> {
  const [ours, bare] = await Promise.all(
    [product, baseline].map(async ({ port }) => {
      const answer = await fetch(`http://${HOST}:${port}${path}`, { headers: await sign() })
      const headers = [...answer.headers].filter(([name]) => name !== 'date' && name !== 'x-request-id')
      return `${answer.status} ${JSON.stringify(headers.sort(([a], [b]) => (a < b ? -1 : 1)))} ${await answer.text()}`
    }),
  )
  if (ours !== bare) throw new Error(`product and baseline differ on ${path}:\n${ours ?? ''}\n${bare ?? ''}`)
}
