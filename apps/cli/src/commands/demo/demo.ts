import { once } from 'node:events'
import { createServer } from 'node:net'
import { resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from '@chancery/sdk'
import { addressOf } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { Failure, misuse } from '../../failure.ts'
import { errorCode, typed } from '../../files.ts'
import type { Arguments, Options } from '../../options.ts'
import { homeFiles, prepareHome } from '../init/home.ts'
import { NETWORK } from './cast.ts'
import { fill } from './fill.ts'
import { writeDemoHome } from './home-of-demo.ts'

const HOST = '127.0.0.1'
const READY_SECONDS = 30

/** demo: a whole network to look at, on this machine only, until it is stopped. */
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
  // Another program may have taken the port meanwhile; nothing of an authority that never served is kept.
  await Promise.race([waitUntilReady(url), ended.then(refuseEarlyEnd).catch(undone)])
  context.note(`filling ${NETWORK} with ${nodes} nodes`)
  await fill({ url, keys, nodes, now: context.now })
  context.note(
    `open ${url}/ in a browser; the key for ${url}/operator is ${typed(context.cwd, `${files.operator}.key`)}`,
  )
  context.note('everybody knows these keys: keep this network on this machine. Ctrl-C stops it.')
  return { exitCode: await ended }
}

function readNumber(text: string, name: string, max: number): string {
  if (!/^[1-9][0-9]{0,4}$/.test(text) || Number(text) > max)
    throw misuse(`--${name} must be a number from 1 to ${max}.`)
  return text
}

/** Before anything is made: a demo that cannot be served leaves nothing behind. */
async function requireFreePort(port: number): Promise<void> {
  const server = createServer()
  try {
    server.listen(port, HOST)
    await once(server, 'listening')
  } catch (error) {
    const hint = 'Stop the program that listens there, or choose another with --port.'
    throw new Failure({ code: 'port_in_use', message: `Port ${port} cannot be used: ${portProblem(error)}.`, hint })
  }
  server.close()
  await once(server, 'close')
}

function portProblem(error: unknown): string {
  const code = errorCode(error)
  return code === 'EADDRINUSE' ? 'another program listens on it' : `the system says ${code ?? 'no'}`
}

function refuseEarlyEnd(): never {
  throw new Failure({
    code: 'demo_ended',
    message: 'The authority of the demo ended before it served; its log above says why.',
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
      throw new Failure({
        code: 'demo_not_ready',
        message: `The authority did not become ready within ${READY_SECONDS} s.`,
      })
    await pause(100)
  }
}
