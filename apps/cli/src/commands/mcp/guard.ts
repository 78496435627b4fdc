import { dirname, join } from 'node:path'
import type { Arguments, Options } from '../../arguments/options.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import type { Result } from '../../output/screen.ts'
import { Gate } from './gate.ts'
import { pinTools } from './pin.ts'
import { type Upstream, openHome, openUpstream, readTarget } from './upstream.ts'
import { guardStdio } from './stdio.ts'
import { ToolGuard } from './tool-guard.ts'
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { OWNER_ONLY, errorCode, readText, writeNewFile } from '../../files/files.ts'
import { once } from 'node:events'
import { type IncomingMessage, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HttpGuard, sendJson } from './http.ts'
import { CODES, errorBody } from './messages.ts'

/** The header in which clients send the secret. Headers of this prefix never go to a server. */
const CLIENT_SECRET_HEADER = 'Chancery-Client-Secret'

const SECRET = /^[A-Za-z0-9_-]{43,}$/

/** Returns the secret of the clients of a guard, and makes it at the first start. Only the owner of the node can read it. */
export async function loadClientSecret(file: string): Promise<string> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await writeNewFile(file, `${randomBytes(32).toString('base64url')}\n`, OWNER_ONLY).catch((error: unknown) => {
    if (!(error instanceof CommandError && errorCode(error.cause) === 'EEXIST')) throw error
  })
  const secret = (await readText(file)).trim()
  if (SECRET.test(secret)) return secret
  const message = `${file} does not contain a client secret.`
  throw new CommandError({ code: 'invalid_file', message, hint: 'Delete it: the guard makes a new one at its start.' })
}

/** Compares in a time that does not depend on the sent text. */
export function isSecret(sent: string | readonly string[] | undefined, secret: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return typeof sent === 'string' && timingSafeEqual(digest(sent), digest(secret))
}

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

interface ListenAddress {
  readonly host: string
  readonly port: number
}

interface HttpTarget {
  readonly upstream: Upstream
  readonly address: ListenAddress
  /** File with the secret of the clients. */
  readonly secretFile: string
}

/** Serves until the process is stopped. */
async function guardHttp(
  context: CommandContext,
  guard: ToolGuard,
  { upstream, address, secretFile }: HttpTarget,
): Promise<void> {
  const stop = context.stop()
  const secret = await loadClientSecret(secretFile)
  const proxy = new HttpGuard(guard, upstream, context.note)
  const server = createServer((request, response) => {
    const refusal = refusalOf(request, upstream.url, secret)
    if (refusal === undefined) return void proxy.handle(request, response)
    return sendJson(response, refusal[0], errorBody(null, CODES.invalid, refusal[1]))
  })
  server.listen(address.port, address.host)
  await once(server, 'listening').catch((error: unknown) => {
    const message = `Cannot listen on ${address.host}:${address.port}.`
    throw new CommandError({ code: 'cannot_listen', message, hint: 'Choose another port.' }, { cause: error })
  })
  const { port } = server.address() as AddressInfo
  context.stdout.write(`listening on http://${address.host}:${port}${upstream.url.pathname}\n`)
  context.note(`clients send the header ${CLIENT_SECRET_HEADER} with the content of ${secretFile}`)
  if (!stop.aborted) await once(stop, 'abort')
  server.close()
  server.closeAllConnections()
  await proxy.idle()
}

/**
 * A web page must not reach a guard at a loopback address, neither directly nor by a name that resolves to it. Another
 * program of this machine must not use the rights of the node: a client proves that it may read the files of the node.
 */
function refusalOf(
  { method = '', url = '', headers }: IncomingMessage,
  upstream: URL,
  secret: string,
): [number, string] | undefined {
  const { host = '', origin } = headers
  if (!isLoopbackHost(`http://${host}`)) return [403, 'This host is not allowed.']
  if (origin !== undefined && !isLoopbackHost(origin)) return [403, 'This origin is not allowed.']
  if (!isSecret(headers[CLIENT_SECRET_HEADER.toLowerCase()], secret))
    return [403, `The header ${CLIENT_SECRET_HEADER} is missing or wrong. The guard names its file at the start.`]
  if (url !== `${upstream.pathname}${upstream.search}`) return [404, 'There is no such endpoint.']
  return ['GET', 'POST', 'DELETE'].includes(method) ? undefined : [405, 'This method is not allowed.']
}

function isLoopbackHost(address: string): boolean {
  return URL.canParse(address) && LOOPBACK.has(new URL(address).hostname)
}

/** Runs `agent guard-mcp` until the client or the server ends, or until it is stopped. */
export async function runMcpGuard(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  if (options.isSet('pin')) return pinTools(context, args.list('command'), options)
  const target = readTarget(args.list('command'), options)
  const address = readListen(options, 'upstream' in target)
  const home = await openHome(context, options, target)
  const gate = await Gate.prepare({ ...home, context })
  const guard = new ToolGuard({ ...home, gate, note: context.note })
  try {
    if ('upstream' in target) {
      const upstream = openUpstream(context, home, target.upstream, options)
      await guardHttp(context, guard, { upstream, address, secretFile: join(home.folder, 'client.secret') })
      return {}
    }
    const { code, isClientGone } = await guardStdio(context, guard, target.words)
    if (isClientGone || code === 0) return {}
    const message = `The server ended with code ${code}.`
    throw new CommandError({ code: 'server_ended', message, hint: 'Run its command alone to find out why.' })
  } finally {
    await gate.close()
  }
}

/** Other machines must not use the rights of this node, so the address is a loopback one. */
function readListen(options: Options, isHttp: boolean): ListenAddress {
  const [, host = '', port = ''] =
    /^(127\.0\.0\.1|localhost|\[::1\]):(\d{1,5})$/.exec(options.textOrDefault('listen')) ?? []
  if (!isHttp && (options.isSet('listen') || options.isSet('prove')))
    throw usageError('--listen and --prove need --upstream.')
  if (host === '' || Number(port) > 65_535)
    throw usageError('--listen is not a loopback address with a port.', 'For example: --listen 127.0.0.1:9000')
  return { host: host.replaceAll(/[[\]]/g, ''), port: Number(port) }
}
