import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type IncomingHttpHeaders, request as plainRequest } from 'node:http'
import { request as secureRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { initializeState, loadConfiguration, readGatewaySettings, startGateway } from '@chancery/gateway'
import type { GatewaySettings, RunningGateway } from '@chancery/gateway'
import { type JsonObject, type JsonValue, writeJson } from '@chancery/protocol'
import { type Clock, type Log, requireValues, silentLog, systemClock, systemIds } from '@chancery/service-kit'

export interface TestGatewayOptions {
  /** Absent for development mode. */
  readonly policy?: JsonObject
  readonly settings?: Readonly<Record<string, string>>
  /** Written next to the policy; `{home}` in a setting is the folder. */
  readonly files?: Readonly<Record<string, string>>
  /** Durable state: new, or that of an earlier gateway in the same home. */
  readonly state?: 'new' | 'kept'
  readonly home?: string
  readonly clock?: Clock
  readonly log?: Log
  /** Where audit lines go; nowhere when absent. */
  readonly lines?: Log
}

export interface GatewayResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: JsonObject
}

export interface GatewayRequest {
  readonly token?: string
  readonly body?: unknown
  readonly rawBody?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  /** Local address of the connection. */
  readonly from?: string
  readonly tls?: { readonly ca: string; readonly cert?: string; readonly key?: string }
}

export interface TestGateway {
  readonly home: string
  readonly url: string
  readonly gateway: RunningGateway
  readonly settings: GatewaySettings
  request(method: string, path: string, options?: GatewayRequest): Promise<GatewayResponse>
  /** Writes another policy and reads all files again. */
  reload(policy: JsonObject): Promise<void>
  /** Ends it; the home stays with `keep`. */
  stop(keep?: 'keep'): Promise<void>
}

/** A real gateway in this process: real files, real HTTP on a free port, real threads and state. */
export async function startTestGateway(options: TestGatewayOptions): Promise<TestGateway> {
  const home = options.home ?? (await mkdtemp(join(tmpdir(), 'chancery-gateway-')))
  const clock = options.clock ?? systemClock
  const settings = await writeHome(home, options)
  if (options.state === 'new') await initializeState(settings, { clock, ids: systemIds })
  const { configuration, problems } = loadConfiguration(settings, clock.now())
  if (configuration === undefined && !settings.development) throw new Error(JSON.stringify(problems))
  const parts = { log: options.log ?? silentLog, lines: options.lines ?? silentLog, version: '0.0.0', clock }
  const gateway = await startGateway(settings, settings.development ? undefined : configuration, parts)
  const scheme = settings.tlsCertFile === undefined ? 'http' : 'https'
  const url = `${scheme}://127.0.0.1:${gateway.address.port}`
  return {
    home,
    url,
    gateway,
    settings,
    request: (method, path, request = {}) => sendGatewayRequest(url, method, path, request),
    async reload(policy) {
      await writePrivate(join(home, 'policy.json'), writeJson(policy))
      await gateway.reload()
    },
    async stop(keep) {
      await gateway.stopAccepting()
      await gateway.close()
      if (keep === undefined) await rm(home, { recursive: true, force: true })
    },
  }
}

async function writeHome(home: string, options: TestGatewayOptions): Promise<GatewaySettings> {
  await mkdir(home, { recursive: true })
  const env: Record<string, string> = {
    GATEWAY_ADDR: '127.0.0.1:0',
    GATEWAY_AUTH_FAILURES_PER_MINUTE: '100000',
    GATEWAY_LOG_LEVEL: 'error',
  }
  if (options.policy !== undefined) {
    env['GATEWAY_POLICY_FILE'] = join(home, 'policy.json')
    await writePrivate(join(home, 'policy.json'), writeJson(options.policy))
  }
  if (options.state !== undefined) env['GATEWAY_STATE_FILE'] = join(home, 'gateway.state')
  for (const [name, text] of Object.entries(options.files ?? {})) await writePrivate(join(home, name), text)
  for (const [name, value] of Object.entries(options.settings ?? {})) env[name] = value.replaceAll('{home}', home)
  return requireValues(readGatewaySettings({ flags: {}, env }))
}

async function writePrivate(file: string, text: string): Promise<void> {
  await writeFile(file, text, { mode: 0o600 })
}

export function sendGatewayRequest(
  url: string,
  method: string,
  path: string,
  options: GatewayRequest,
): Promise<GatewayResponse> {
  const { token, body, rawBody, headers, from, tls } = options
  const data = rawBody ?? (body === undefined ? undefined : JSON.stringify(body))
  const { hostname, port, protocol } = new URL(url)
  return new Promise((resolve, reject) => {
    const request = (protocol === 'https:' ? secureRequest : plainRequest)(
      {
        hostname,
        port,
        method,
        path,
        agent: false,
        ...(from === undefined ? {} : { localAddress: from }),
        ...tls,
        headers: {
          ...(data === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(data) }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, body: toBody(text) })
        })
      },
    )
    request.on('error', reject)
    request.end(data)
  })
}

/** Empty when the answer is no JSON object, as for metrics. */
function toBody(text: string): JsonObject {
  try {
    return JSON.parse(text) as { readonly [name: string]: JsonValue }
  } catch {
    return {}
  }
}
