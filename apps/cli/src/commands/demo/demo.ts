import { resolve } from 'node:path'

import { HOUR } from '@chancery/protocol'
import type { Client } from '@chancery/sdk'
import { addressOf } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { withProgress } from '../../output/progress.ts'
import type { Result } from '../../output/result.ts'
import { typed } from '../../files/files.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { homeFiles } from '../init/home.ts'
import { keepCurrent, runActivity } from './activity.ts'
import { fill, operatorOf } from './create-data.ts'
import { NETWORK } from './demo-data.ts'
import { type DemoKeys, changeDemoPort, demoKeys, writeDemoHome } from './demo-folder.ts'
import { startDemoGateway } from './demo-gateway.ts'
import { NodesFolder, runNodes } from './demo-nodes.ts'
import { readNumber, requireFreePorts, waitUntilReady } from './demo-start.ts'
import { type DemoState, MAX_PORT, checkDemoFolder, holdDemo, makeDemoFolder, writeDemoState } from './demo-state.ts'
import { PAST, createPast } from './history.ts'
import { runTwo } from './two.ts'

const HOST = '127.0.0.1'

interface OneDemo {
  readonly home: string
  readonly state: DemoState
  /** True when an earlier start created it. */
  readonly isContinued: boolean
  readonly isStatic: boolean
  readonly hasGateway: boolean
  readonly nodes: number
}

/** Runs `demo`: a complete network on this machine, until it is stopped. */
export async function runDemo(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  if (options.isSet('two')) return runTwo(context, options)
  const demo = await openDemo(context, options)
  const { home, state, isContinued, isStatic } = demo
  const { note, now } = context
  const keys = isContinued ? await continueDemo(demo) : await createDemo(context, demo)
  const { commands } = await import('@chancery/authority')
  const ended = commands.start({ flags: {}, envFile: homeFiles(home).settings })
  const nodes = new NodesFolder(home)
  const url = addressOf(HOST, String(state.port))
  await waitUntilReady(url, ended)
  if (!isContinued && isStatic) await fill({ url, keys, nodes: demo.nodes, now, folder: nodes })
  await writeDemoState(home, { ...state, isComplete: true })
  const operator = operatorOf({ url, keys, now })
  if (!isStatic) await startActivity(context, { url, operator, nodes })
  if (demo.hasGateway)
    await startDemoGateway(context, { home, host: HOST, port: state.port, url, keys, operator, nodes })
  const key = typed(context.cwd, `${homeFiles(home).operator}.key`)
  note(`open ${url}/ in a browser; the key for ${url}/operator is ${key}`)
  note('The demo keys are public. Do not expose this network. Press Ctrl-C to stop.')
  return { exitCode: await ended }
}

/** Reads the options and checks folder and ports, before anything is made. */
async function openDemo(context: CommandContext, options: Options): Promise<OneDemo> {
  const home = resolve(context.cwd, options.textOrDefault('home'))
  const given = readNumber(options.textOrDefault('port'), 'port', MAX_PORT)
  const nodes = Number(readNumber(options.textOrDefault('nodes'), 'nodes', 2000))
  const found = await checkDemoFolder(context, home, { kind: 'one', isReset: options.isSet('reset') })
  const port = found === undefined || options.isSet('port') ? Number(given) : found.port
  const hasGateway = options.isSet('gateway')
  const gateway = [
    { port: port + 1, use: 'gateway' },
    { port: port + 2, use: 'service' },
  ]
  await requireFreePorts(HOST, [{ port, use: 'authority' }, ...(hasGateway ? gateway : [])])
  if (found !== undefined) {
    context.note(`continuing ${NETWORK} in ${typed(context.cwd, home)}`)
    if (options.isSet('nodes')) context.note('--nodes is used for a new demo only; add --reset to make one')
  }
  const state = found ?? { kind: 'one', port, createdAt: context.now(), isComplete: false }
  return {
    home,
    state: { ...state, port },
    isContinued: found !== undefined,
    isStatic: options.isSet('static'),
    hasGateway,
    nodes,
  }
}

async function createDemo(context: CommandContext, { home, state, nodes, isStatic }: OneDemo): Promise<DemoKeys> {
  const files = homeFiles(home)
  const undo = await makeDemoFolder(home, state)
  const choices = { home, network: NETWORK, host: HOST, port: String(state.port) }
  // The first records are older than the demo, and a key must be valid before its first signature.
  const validFrom = state.createdAt - PAST - HOUR
  try {
    const keys = await writeDemoHome(choices, files, validFrom)
    context.note(`creating ${NETWORK} with ${nodes} nodes${isStatic ? '' : ' and their activity of the last 12 hours'}`)
    const past = { keys, nodes, folder: new NodesFolder(home), settings: files.settings }
    if (!isStatic)
      await withProgress(context, 'Creating past activity', (progress) =>
        createPast(past, state.createdAt, (percent) => progress.update(`Creating past activity: ${percent} %`)),
      )
    return keys
  } catch (error) {
    await undo()
    throw error
  }
}

async function continueDemo({ home, state }: OneDemo): Promise<DemoKeys> {
  holdDemo(home)
  await changeDemoPort({ home, network: NETWORK, host: HOST, port: String(state.port) }, homeFiles(home))
  return demoKeys()
}

interface LiveDemo {
  readonly url: string
  readonly operator: Client
  readonly nodes: NodesFolder
}

async function startActivity(context: CommandContext, { url, operator, nodes: folder }: LiveDemo): Promise<void> {
  const { note, now, sleep } = context
  await keepCurrent({ operator, now })
  const genesis = await operator.sovereign.genesis()
  const nodes = await runNodes({ url, genesis, operator, folder, note })
  const { signal } = new AbortController()
  void runActivity({ operator, find: nodes.find, now, sleep, signal, note })
}
