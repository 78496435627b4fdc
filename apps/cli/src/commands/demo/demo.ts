import { resolve } from 'node:path'

import { DAY } from '@chancery/protocol'
import { addressOf } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { typed } from '../../files/files.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { homeFiles } from '../init/home.ts'
import { keepCurrent, runActivity } from './activity.ts'
import { fill, operatorOf } from './create-data.ts'
import { NETWORK } from './demo-data.ts'
import { changeDemoPort, demoKeys, writeDemoHome } from './demo-folder.ts'
import type { DemoKeys } from './demo-folder.ts'
import { NodesFolder, runNodes } from './demo-nodes.ts'
import { readNumber, refuseEarlyEnd, requireFreePorts, waitUntilReady } from './demo-start.ts'
import { checkDemoFolder, lockDemo, makeDemoFolder, writeDemoState } from './demo-state.ts'
import type { DemoState } from './demo-state.ts'
import { createPast } from './history.ts'
import { runTwo } from './two.ts'

const HOST = '127.0.0.1'

interface OneDemo {
  readonly home: string
  readonly state: DemoState
  /** True when an earlier start created it. */
  readonly isContinued: boolean
  readonly isStatic: boolean
  readonly nodes: number
}

/** Runs `demo`: a complete network on this machine, until it is stopped. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  if (options.isSet('two')) return runTwo(context, options)
  const demo = await openDemo(context, options)
  const { home, state, isContinued, isStatic } = demo
  const { note, now } = context
  const keys = isContinued ? await continueDemo(demo) : await createDemo(context, demo)
  const { commands } = await import('@chancery/authority')
  const ended = commands.start({ flags: {}, envFile: homeFiles(home).settings })
  const url = addressOf(HOST, String(state.port))
  await Promise.race([waitUntilReady(url), ended.then(refuseEarlyEnd)])
  if (!isContinued && isStatic) await fill({ url, keys, nodes: demo.nodes, now, folder: new NodesFolder(home) })
  await writeDemoState(home, { ...state, isComplete: true })
  if (!isStatic) await startActivity(context, demo, keys, url)
  const key = typed(context.cwd, `${homeFiles(home).operator}.key`)
  note(`open ${url}/ in a browser; the key for ${url}/operator is ${key}`)
  note('The demo keys are public. Do not expose this network. Press Ctrl-C to stop.')
  return { exitCode: await ended }
}

/** Reads the options and checks folder and ports, before anything is made. */
async function openDemo(context: CommandContext, options: Options): Promise<OneDemo> {
  const home = resolve(context.cwd, options.textOrDefault('home'))
  const given = readNumber(options.textOrDefault('port'), 'port', 65_535)
  const nodes = Number(readNumber(options.textOrDefault('nodes'), 'nodes', 2000))
  const found = await checkDemoFolder(context, home, { kind: 'one', isReset: options.isSet('reset') })
  const port = found === undefined || options.isSet('port') ? Number(given) : found.port
  await requireFreePorts(HOST, [{ port, use: 'authority' }])
  const state = found ?? { kind: 'one', port, createdAt: context.now(), isComplete: false }
  return {
    home,
    state: { ...state, port },
    isContinued: found !== undefined,
    isStatic: options.isSet('static'),
    nodes,
  }
}

async function createDemo(context: CommandContext, { home, state, nodes, isStatic }: OneDemo): Promise<DemoKeys> {
  const files = homeFiles(home)
  const undo = await makeDemoFolder(home, state)
  lockDemo(home)
  const choices = { home, network: NETWORK, host: HOST, port: String(state.port) }
  // The first records are a day old, and a key must be valid before its first signature.
  const validFrom = state.createdAt - 2n * DAY
  try {
    const keys = await writeDemoHome(choices, files, validFrom)
    context.note(`creating ${NETWORK} with ${nodes} nodes${isStatic ? '' : ' and the activity of one day'}`)
    if (!isStatic)
      await createPast({ keys, nodes, folder: new NodesFolder(home), settings: files.settings }, state.createdAt)
    return keys
  } catch (error) {
    await undo()
    throw error
  }
}

async function continueDemo({ home, state }: OneDemo): Promise<DemoKeys> {
  lockDemo(home)
  await changeDemoPort({ home, network: NETWORK, host: HOST, port: String(state.port) }, homeFiles(home))
  return demoKeys()
}

async function startActivity(context: CommandContext, demo: OneDemo, keys: DemoKeys, url: string): Promise<void> {
  const { note, now, sleep } = context
  const operator = operatorOf({ url, keys, now })
  await keepCurrent({ operator, now })
  const genesis = await operator.sovereign.genesis()
  const nodes = await runNodes({ url, genesis, operator, folder: new NodesFolder(demo.home), note })
  const { signal } = new AbortController()
  void runActivity({ operator, find: nodes.find, now, sleep, signal, note })
}
