import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import {
  LogPolicyError,
  MAX_ADD_CHECKPOINT_LENGTH,
  fromUtf8,
  isNoteName,
  readLogPolicy,
  visible,
  writeJson,
  writeWitnessKey,
} from '@chancery/protocol'
import type { NoteKey, Signer } from '@chancery/protocol'
import type { Options } from '../../arguments/options.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { readText } from '../../files/files.ts'
import { loadSigner } from '../../files/keys.ts'
import type { Result } from '../../output/screen.ts'
import { type WitnessAnswer, type WitnessEvent, WitnessService } from './witness-service.ts'
import { WitnessStore } from './witness-store.ts'
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'

/** Requests that are computed at the same time. More are refused, and the log tries again. */
const MAX_REQUESTS = 64
const TEXT = 'text/plain; charset=utf-8'

/**
 * An HTTP server for a witness. Size and time of every request are limited before anything is computed. A body that
 * arrives slowly takes no place of another request.
 */
export function createWitnessServer(service: WitnessService, onError: (error: unknown) => void): Server {
  let running = 0
  const limits = {
    headersTimeout: 5000,
    requestTimeout: 10_000,
    keepAliveTimeout: 5000,
    // How often the limits are checked; without it, every 30 s.
    connectionsCheckingInterval: 1000,
    maxHeaderSize: 8192,
  }
  const server = createServer(limits, (request, response) => {
    void answer(request, (run) => {
      if (running >= MAX_REQUESTS) return Promise.resolve(BUSY)
      running += 1
      return run(service).finally(() => {
        running -= 1
      })
    })
      .catch((error: unknown): WitnessAnswer => {
        // A caller that goes away is no failure of the witness.
        if (!request.destroyed || request.complete) onError(error)
        return { status: 500, type: TEXT, body: 'The witness failed.\n' }
      })
      .then((said) => send(response, said))
  })
  server.maxConnections = 4 * MAX_REQUESTS
  return server
}

const BUSY: WitnessAnswer = { status: 503, type: TEXT, body: 'Too many requests.\n' }

/** Runs a request in one of the places. */
type Place = (run: (service: WitnessService) => Promise<WitnessAnswer>) => Promise<WitnessAnswer>

async function answer(request: IncomingMessage, inPlace: Place): Promise<WitnessAnswer> {
  const { method, url = '' } = request
  if (method === 'POST' && url === '/add-checkpoint') {
    const body = await readBody(request)
    if (body === undefined) return { status: 413, type: TEXT, body: 'The request is too long, or not UTF-8.\n' }
    return inPlace(async (service) => service.addCheckpoint(body))
  }
  const [, digest] = method === 'GET' ? (/^\/([0-9a-f]{64})\/checkpoint$/.exec(url) ?? []) : []
  if (digest !== undefined) return inPlace(async (service) => service.checkpoint(digest))
  return { status: 404, type: TEXT, body: 'There is no such endpoint.\n' }
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_ADD_CHECKPOINT_LENGTH) return undefined
    chunks.push(chunk)
  }
  return fromUtf8(Buffer.concat(chunks))
}

function send(response: ServerResponse, { status, type, body }: WitnessAnswer): void {
  if (response.destroyed) return
  const headers = { 'content-type': type, 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store' }
  // What is left of a refused body is not read.
  response.writeHead(status, status === 413 || status === 503 ? { ...headers, connection: 'close' } : headers).end(body)
}

/** Ends the server: no new requests, and running ones are answered. */
export async function stopServer(server: Server): Promise<void> {
  server.close()
  server.closeIdleConnections()
  const force = setTimeout(() => server.closeAllConnections(), 5000)
  await once(server, 'close')
  clearTimeout(force)
}

/** Refusals of one log that are printed in a minute: anyone can send a signed checkpoint again. */
const REFUSED_EVERY_SECONDS = 60

/** Runs `evidence witness --listen` until the process is stopped. */
export async function listen(context: CommandContext, options: Options, given: string): Promise<Result> {
  const { host, port } = readAddress(given)
  const [keyFile, logsFile] = [options.text('key'), options.text('logs')]
  if (keyFile === undefined || logsFile === undefined)
    throw usageError(
      '--listen needs --key and --logs.',
      'The file of --logs has a line for each log: log <verifier key>',
    )
  const logs = await loadLogs(resolve(context.cwd, logsFile))
  const signer = await loadWitness(context, options, keyFile)
  const store = await WitnessStore.open(resolve(context.cwd, options.required('state')), options.isSet('init'))
  const unixSeconds = (): number => Number(context.now() / 1_000_000n)
  const report = reporter(context, unixSeconds)
  const server = createWitnessServer(new WitnessService({ store, signer, logs, unixSeconds, report }), (error) =>
    context.note(`a request failed: ${error instanceof Error ? error.message : String(error)}`),
  )
  try {
    const stop = context.stop()
    server.listen(port, host)
    await once(server, 'listening').catch((error: unknown) => {
      const message = `Cannot listen on ${host}:${port}.`
      throw new CommandError({ code: 'cannot_listen', message, hint: 'Choose another port.' }, { cause: error })
    })
    const { port: used } = server.address() as AddressInfo
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${used}`
    const verifier_key = writeWitnessKey({ name: signer.keyId, publicKey: signer.publicKey })
    const origins = [...new Set(logs.map(({ name }) => name))]
    context.stdout.write(
      context.json
        ? `${writeJson({ event: 'listening', url, verifier_key, logs: origins })}\n`
        : `listening on ${url}\nverifier key: ${verifier_key}\n${origins.map((each) => `log: ${visible(each)}\n`).join('')}`,
    )
    if (!stop.aborted) await once(stop, 'abort')
    await stopServer(server)
  } finally {
    store.close()
  }
  return {}
}

/** Returns the signer of a witness. Its name is in every cosignature. */
export async function loadWitness(context: CommandContext, options: Options, file: string): Promise<Signer> {
  const signer = await loadSigner(context, file, (noted) => options.text('name') ?? noted)
  if (!isNoteName(signer.keyId))
    throw usageError('The name of a witness has no spaces and no plus sign.', 'Give a URL without scheme as --name.')
  return signer
}

async function loadLogs(path: string): Promise<readonly NoteKey[]> {
  try {
    const { logs } = readLogPolicy(await readText(path, 65_536), { needsQuorum: false })
    if (logs.length > 0) return logs
  } catch (error) {
    if (!(error instanceof LogPolicyError)) throw error
    throw usageError(`${path}: ${error.message}.`, 'Each line is: log <verifier key>')
  }
  throw usageError(`${path} names no log.`, 'Each line is: log <verifier key>')
}

function readAddress(given: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain, port = ''] = /^(?:\[([0-9a-fA-F:]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(given) ?? []
  const host = bracketed ?? plain
  if (host === undefined || Number(port) > 65_535) throw usageError('--listen is host:port, such as 0.0.0.0:8444.')
  return { host, port: Number(port) }
}

/** Prints events as they happen; refusals of one log at most once a minute. */
function reporter(context: CommandContext, unixSeconds: () => number): (event: WitnessEvent) => void {
  const printed = new Map<string, number>()
  return (event) => {
    if (event.event === 'refused') {
      const now = unixSeconds()
      if (now - (printed.get(event.origin) ?? 0) < REFUSED_EVERY_SECONDS) return
      printed.set(event.origin, now)
    }
    context.stdout.write(context.json ? `${writeJson({ ...event })}\n` : `${textOf(event)}\n`)
  }
}

function textOf({ event, origin, size, known_size }: WitnessEvent): string {
  const name = visible(origin)
  if (event === 'cosigned') return `cosigned ${name}: ${size} entries, before ${known_size}`
  if (event === 'refused')
    return `refused ${name}: ${size} entries do not continue the ${known_size} that were cosigned`
  return `FORKED ${name}: it signed two histories of ${size} entries. Both checkpoints are in the state of this witness.`
}
