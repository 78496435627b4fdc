import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { LogPolicyError, isNoteName, readLogPolicy, visible, writeJson, writeWitnessKey } from '@chancery/protocol'
import type { NoteKey, Signer } from '@chancery/protocol'
import type { Options } from '../../arguments/options.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { readText } from '../../files/files.ts'
import { loadSigner } from '../../files/keys.ts'
import type { Result } from '../../output/result.ts'
import { createWitnessServer, stopServer } from './witness-server.ts'
import { type WitnessEvent, WitnessService } from './witness-service.ts'
import { WitnessStore } from './witness-store.ts'

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
