import { once } from 'node:events'
import { createServer } from 'node:net'
import { resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from '@chancery/sdk'
import { addressOf } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { errorCode, typed } from '../../files/files.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { homeFiles, prepareHome } from '../init/home.ts'
import { NETWORK } from './demo-data.ts'
import { fill } from './create-data.ts'
import { writeDemoHome } from './demo-folder.ts'

const HOST = '127.0.0.1'
const READY_SECONDS = 30

/** Runs `demo`: a complete network on this machine, until it is stopped. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const choices = {
    home: resolve(context.cwd, options.textOrDefault('home')),
    network: NETWORK,
    host: HOST,
    port: readNumber(options.textOrDefault('port'), 'port', 65_535),
  }
  const nodes = Number(readNumber(options.textOrDefault('nodes'), 'nodes', 2000))
  await requireFreePort(Number(choices.port))
  const files = homeFiles(choices.home)
  const { undo } = await prepareHome(choices.home, false, context.now())
  const undone = async (error: unknown): Promise<never> => {
    await undo()
    throw error
  }
  const keys = await writeDemoHome(choices, files, context.now()).catch(undone)
  const { commands } = await import('@chancery/authority')
  const ended = commands.start({ flags: {}, envFile: files.settings })
  const url = addressOf(choices.host, choices.port)
  // Another program may have taken the port in the meantime. The files of an authority that never ran are deleted.
  await Promise.race([waitUntilReady(url), ended.then(refuseEarlyEnd).catch(undone)])
  context.note(`filling ${NETWORK} with ${nodes} nodes`)
  await fill({ url, keys, nodes, now: context.now })
  context.note(
    `open ${url}/ in a browser; the key for ${url}/operator is ${typed(context.cwd, `${files.operator}.key`)}`,
  )
  context.note('The demo keys are public. Do not expose this network. Press Ctrl-C to stop.')
  return { exitCode: await ended }
}

function readNumber(text: string, name: string, max: number): string {
  if (!/^[1-9][0-9]{0,4}$/.test(text) || Number(text) > max)
    throw usageError(`--${name} must be a number from 1 to ${max}.`)
  return text
}

/** Checks the port first, so that a demo that cannot run leaves no files. */
async function requireFreePort(port: number): Promise<void> {
  const server = createServer()
  try {
    server.listen(port, HOST)
    await once(server, 'listening')
  } catch (error) {
    const hint = 'Stop the program that listens there, or choose another with --port.'
    throw new CommandError({
      code: 'port_in_use',
      message: `Port ${port} cannot be used: ${portProblem(error)}.`,
      hint,
    })
  }
  server.close()
  await once(server, 'close')
}

function portProblem(error: unknown): string {
  const code = errorCode(error)
  return code === 'EADDRINUSE' ? 'another program uses it' : `system error ${code ?? 'unknown'}`
}

function refuseEarlyEnd(): never {
  throw new CommandError({
    code: 'demo_ended',
    message: 'The demo authority ended during its start. See its log above.',
  })
}

async function waitUntilReady(url: string): Promise<void> {
  const client = createClient({ url, retry: false, timeoutMs: 2000 })
  const end = performance.now() + READY_SECONDS * 1000
  for (;;) {
    const isReady = await client.health.readyz().then(
      () => true,
      () => false,
    )
    if (isReady) return
    if (performance.now() > end)
      throw new CommandError({
        code: 'demo_not_ready',
        message: `The authority did not become ready within ${READY_SECONDS} s.`,
      })
    await pause(100)
  }
}
