import { resolve } from 'node:path'
import { DAY, HOUR, type Instant, MINUTE } from '@chancery/protocol'
import { RefusedError, type NetworkNode } from '@chancery/sdk'
import type { Client } from '@chancery/sdk/authority'
import { addressOf } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, withProgress } from '../../output/screen.ts'
import { typed } from '../../files/files.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { homeFiles } from '../init/home.ts'
import { fill, importFeeds, operatorOf, renewTreaties } from './create-data.ts'
import { NETWORK, NodesFolder, nodeName, runNodes } from './demo-nodes.ts'
import { type DemoKeys, changeDemoPort, demoKeys, writeDemoHome } from './demo-folder.ts'
import { startDemoGateway } from './demo-gateway.ts'
import { readNumber, requireFreePorts, waitUntilReady } from './demo-start.ts'
import { type DemoState, MAX_PORT, checkDemoFolder, holdDemo, makeDemoFolder, writeDemoState } from './demo-state.ts'
import { PAST, createPast } from './history.ts'
import { runTwo } from './two.ts'
import { CAPABILITY, askedAmount, attestAskers, pay } from './decisions.ts'

export interface ActivityOptions {
  readonly operator: Client
  /** Returns a running node. */
  readonly find: (index: number) => NetworkNode | undefined
  readonly now: () => Instant
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  readonly signal: AbortSignal
  readonly note: (text: string) => void
}

const ASK_SECONDS = 20
const KEEP_EVERY = 10n * MINUTE
const ASKERS = [0, 1, 2]
const ATTESTED_FOR = 25n * DAY

/**
 * Keeps a demo in use until it is stopped: its nodes ask for decisions, treaties are renewed before they end, and the
 * feeds of partners are imported again.
 */
export async function runActivity(options: ActivityOptions): Promise<void> {
  const { now, sleep, signal } = options
  const activity = new Activity(options)
  let keptAt = now()
  for (let turn = 1; !signal.aborted; turn += 1) {
    await sleep(ASK_SECONDS * 1000, signal)
    if (signal.aborted) return
    await activity.attempt(() => activity.ask(turn))
    if (now() - keptAt < KEEP_EVERY) continue
    keptAt = now()
    await activity.attempt(() => keepCurrent(options))
  }
}

/** Renews treaties and imports feeds. A demo that was stopped for days has no old warnings after it. */
export async function keepCurrent({ operator, now }: Pick<ActivityOptions, 'operator' | 'now'>): Promise<void> {
  await renewTreaties(operator, now())
  await importFeeds(operator, now())
}

class Activity {
  readonly #options: ActivityOptions
  readonly #attestations = new Map<number, { readonly id: string; readonly until: Instant }>()
  #hasFailed = false

  constructor(options: ActivityOptions) {
    this.#options = options
  }

  /** A failure is reported once; the next turn tries again. */
  async attempt(work: () => Promise<void>): Promise<void> {
    const { note, signal } = this.#options
    try {
      await work()
      this.#hasFailed = false
    } catch (error) {
      // An operator revoked the node. It stops at its next heartbeat.
      const isRevoked = error instanceof RefusedError && error.status === 403
      if (signal.aborted || isRevoked || this.#hasFailed) return
      this.#hasFailed = true
      note(`the demo could not continue its activity: ${error instanceof Error ? error.message : String(error)}`)
    }
  }

  /** One node asks to pay an invoice. Every second allowed payment is executed, with its evidence. */
  async ask(turn: number): Promise<void> {
    const { operator, find } = this.#options
    const index = ASKERS[turn % ASKERS.length] ?? 0
    const node = find(index) ?? find(0)
    if (node === undefined) return
    const attestation_id = await this.#attestationOf(node === find(index) ? index : 0)
    const { allowed, decision } = await node.ask(CAPABILITY, {
      attestation: attestation_id,
      parameters: { amount: askedAmount(turn) },
    })
    if (allowed && turn % 2 === 0) await pay(operator, decision, decision.decision_id.slice(0, 8))
  }

  async #attestationOf(index: number): Promise<string> {
    const { operator, now } = this.#options
    const known = this.#attestations.get(index)
    if (known !== undefined && now() < known.until) return known.id
    const [id = ''] = await attestAskers(operator, [nodeName(index)])
    this.#attestations.set(index, { id, until: now() + ATTESTED_FOR })
    return id
  }
}

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
  const home = resolve(context.cwd, options.text('home') ?? './demo')
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
