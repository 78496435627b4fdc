import { resolve } from 'node:path'
import { addressOf } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { typed } from '../../files/files.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { homeFiles, prepareHome } from '../init/home.ts'
import { NETWORK } from './demo-data.ts'
import { fill } from './create-data.ts'
import { writeDemoHome } from './demo-folder.ts'
import { readNumber, refuseEarlyEnd, requireFreePort, waitUntilReady } from './demo-start.ts'
import { runTwo } from './two.ts'

const HOST = '127.0.0.1'

/** Runs `demo`: a complete network on this machine, until it is stopped. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  if (options.isSet('two')) return runTwo(context, options)
  const choices = {
    home: resolve(context.cwd, options.textOrDefault('home')),
    network: NETWORK,
    host: HOST,
    port: readNumber(options.textOrDefault('port'), 'port', 65_535),
  }
  const nodes = Number(readNumber(options.textOrDefault('nodes'), 'nodes', 2000))
  await requireFreePort(HOST, Number(choices.port))
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
