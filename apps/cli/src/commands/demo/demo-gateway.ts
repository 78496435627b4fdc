import { appendFile, mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DAY, SECOND, readJoinCertificate, readJson, writeJson } from '@chancery/protocol'
import type { JoinCertificate, Signer } from '@chancery/protocol'
import { createAuthorityClient, type Client } from '@chancery/sdk/authority'
import { createAuthorizer } from '@chancery/sdk'
import { type GatewayClient, createGatewayClient } from '@chancery/sdk/gateway'
import { authenticate } from '@chancery/sdk/nodejs'
import { signRequest } from '@chancery/sdk/protocol'
import type { CommandContext } from '../../context.ts'
import { CommandError } from '../../errors/failure.ts'
import { FOR_ALL, OWNER_ONLY, readText, replaceFile, typed } from '../../files/files.ts'
import { gatewayFiles, makeGatewayFolder } from '../gateway/gateway-folder.ts'
import { pinNetwork } from '../gateway/network-source.ts'
import { NETWORK, type NodesFolder, demoSigner, nodeName } from './demo-nodes.ts'
import type { DemoKeys } from './demo-folder.ts'
import { waitUntil } from './demo-start.ts'
import { createServer } from 'node:http'

/** A node that calls the service. */
interface DemoCaller {
  readonly signer: Signer
  /** Returns its current certificate. */
  readonly certificate: () => Promise<JoinCertificate>
  /** File for the headers of its next request. */
  readonly headersFile: string
}

export interface ProtectedServiceOptions {
  readonly host: string
  readonly port: number
  readonly gateway: { readonly url: string; readonly token: string }
  readonly callers: readonly DemoCaller[]
}

const PATH = '/manifest'
const MANIFEST = { ship: 'Aurora', berth: 7, containers: 412 }
/** A proof is accepted for 60 s. */
const SIGN_AGAIN_MS = 20_000
const MAX_HEADER_BYTES = 24_576

/**
 * Starts a small service. A caller proves its key with each request, and the service asks the gateway whether the
 * certificate of the caller is trusted. Returns the address.
 */
async function startProtectedService(options: ProtectedServiceOptions): Promise<string> {
  const { host, port, gateway, callers } = options
  const url = `http://${host}:${port}`
  const authorizer = createAuthorizer({ audience: url, trust: createGatewayClient(gateway) })
  const serve = authenticate(authorizer, (_request, response, { caller }) => {
    const text = JSON.stringify({ caller: caller.certificate.cert_id, manifest: MANIFEST })
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(`${text}\n`)
  })
  const signAll = async (): Promise<void> => {
    for (const caller of callers) await writeHeaders(caller, url)
  }
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES }, (request, response) => {
    // A proof serves once. The files have new ones before this caller has its response.
    void signAll().then(
      () => serve(request, response),
      () => response.writeHead(503).end(),
    )
  })
  await signAll()
  // A failure, for example of a full disk, must not end the demo. The next round writes the files again.
  setInterval(() => void signAll().catch(() => undefined), SIGN_AGAIN_MS).unref()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return url
}

/** Signs the next request of a caller and writes its headers for `curl -H @FILE`. */
async function writeHeaders({ signer, certificate, headersFile }: DemoCaller, url: string): Promise<void> {
  const request = { method: 'GET', url: `${url}${PATH}`, audience: url }
  const headers = await signRequest(request, { signer, certificate: await certificate() })
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`)
  await replaceFile(headersFile, lines.join(''), OWNER_ONLY)
}

function readCertificate(text: string): JoinCertificate {
  return readJoinCertificate(readJson(text))
}

export interface DemoGatewayOptions {
  readonly home: string
  readonly host: string
  /** Of the authority. The gateway uses the next port, and the service the one after it. */
  readonly port: number
  readonly url: string
  readonly keys: DemoKeys
  readonly operator: Client
  readonly nodes: NodesFolder
}

const REFRESH_SECONDS = 10
const REVOKED_NODE = 'berth-closed'

/** Starts a gateway and a service that asks it, and prints one request that is refused and one that is allowed. */
export async function startDemoGateway(context: CommandContext, options: DemoGatewayOptions): Promise<void> {
  const { home, host, port } = options
  refuseOverrides(context)
  const callers = await prepareCallers(options)
  const folder = join(home, 'gateway')
  if (!(await isGatewayOf(folder, options))) await makeFolder(context, folder, options)
  const { settings, token } = gatewayFiles(folder)
  const { commands } = await import('@chancery/gateway')
  const ended = commands.start({ action: 'start', json: false, online: false, envFile: settings })
  const gateway = { url: `http://${host}:${port + 1}`, token: (await readText(token)).trim() }
  const ready = createGatewayClient(gateway)
  await waitUntil('gateway', () => requireReady(ready), ended)
  const service = await startProtectedService({ host, port: port + 2, gateway, callers })
  const [refused, allowed] = callers.map(
    ({ headersFile }) => `  curl -i -H @${typed(context.cwd, headersFile)} ${service}${PATH}`,
  )
  const lines = [
    `The service ${service}${PATH} asks the gateway ${gateway.url} about each caller.`,
    'It refuses a revoked node:',
    refused ?? '',
    'It allows an active node:',
    allowed ?? '',
    'Each file has the signed headers of one request. The demo writes them again after each use.',
  ]
  for (const line of lines) context.note(line)
}

async function requireReady(gateway: GatewayClient): Promise<void> {
  if (!(await gateway.ready()).ready) throw new Error('not ready')
}

/** A variable such as GATEWAY_ADDR would override the settings, and could open the demo to other machines. */
function refuseOverrides({ env }: CommandContext): void {
  const names = Object.keys(env).filter((name) => name.startsWith('GATEWAY_'))
  if (names.length === 0) return
  throw new CommandError({
    code: 'settings_overridden',
    message: `${names.join(', ')} in this shell would override the settings of the demo gateway.`,
    hint: `Start the demo without them: env ${names.map((name) => `-u ${name}`).join(' ')} chancery demo --gateway`,
  })
}

/** True when the folder has a gateway with these addresses. */
async function isGatewayOf(folder: string, { host, port, url }: DemoGatewayOptions): Promise<boolean> {
  const { policy, settings } = gatewayFiles(folder)
  const texts = await Promise.all([policy, settings].map((file) => readFile(file, 'utf8').catch(() => '')))
  return texts[0]?.includes(`"${url}"`) === true && texts[1]?.includes(`=${host}:${port + 1}\n`) === true
}

async function makeFolder(context: CommandContext, folder: string, options: DemoGatewayOptions): Promise<void> {
  const { host, port, url, keys } = options
  await rm(folder, { recursive: true, force: true })
  const source = { url, rootKey: keys.root.publicKey, network: NETWORK, allowHttp: true }
  const { entry } = await pinNetwork(context, source)
  const now = context.now()
  const { files } = await makeGatewayFolder({
    folder,
    networks: { [NETWORK]: { ...entry, refresh_seconds: REFRESH_SECONDS } },
    address: `${host}:${port + 1}`,
    client: {
      id: 'manifest-service',
      expiresAt: ((now + 365n * DAY) / SECOND) * SECOND,
      requestsPerMinute: 600,
      metrics: false,
    },
    tokenFile: gatewayFiles(folder).token,
    now,
    cwd: context.cwd,
  })
  await appendFile(files.settings, 'GATEWAY_LOG_LEVEL=error\n')
}

/** Returns a caller that is refused and one that is allowed. */
async function prepareCallers(options: DemoGatewayOptions): Promise<readonly DemoCaller[]> {
  const folder = join(options.home, 'callers')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const revoked = join(folder, 'revoked.json')
  const known = await readFile(revoked, 'utf8').catch(() => undefined)
  const closed = readCertificate(known ?? (await makeRevoked(options, revoked)))
  const [index = 0] = await options.nodes.list()
  const store = await options.nodes.store(index)
  let current = await store.read('certificate')
  const certificate = async (): Promise<ReturnType<typeof readCertificate>> => {
    // The file of a node that was revoked is deleted. Its last certificate then shows the refusal.
    current = (await store.read('certificate')) ?? current
    return readCertificate(current ?? '')
  }
  return [
    {
      signer: await demoSigner(REVOKED_NODE),
      certificate: () => Promise.resolve(closed),
      headersFile: join(folder, 'revoked.headers'),
    },
    { signer: await demoSigner(nodeName(index)), certificate, headersFile: join(folder, 'active.headers') },
  ]
}

/** A node that joins and is revoked at once. */
async function makeRevoked({ url, keys, operator }: DemoGatewayOptions, file: string): Promise<string> {
  const invite = await operator.enrollment.invite({ roles: ['role:client'], label: REVOKED_NODE })
  const signer = await demoSigner(REVOKED_NODE)
  const node = createAuthorityClient({ url, node: { signer, audience: keys.authority.publicKey } })
  const certificate = await node.enrollment.join({ invite_token: invite.token_id })
  await operator.crl.revoke({ cert_ids: [certificate.cert_id], reason: 'key_compromise' })
  const text = writeJson(certificate)
  await replaceFile(file, `${text}\n`, FOR_ALL)
  return text
}
