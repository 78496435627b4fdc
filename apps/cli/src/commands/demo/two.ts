import { dirname, join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { addressOf } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import type { Options } from '../../arguments/options.ts'
import { usageError } from '../../errors/failure.ts'
import { typed } from '../../files/files.ts'
import { homeFiles, prepareHome } from '../init/home.ts'
import { demoKeys, writeDemoHome } from './demo-folder.ts'
import { readNumber, requireFreePorts, waitUntilReady } from './demo-start.ts'
import { type DemoState, MAX_PORT, checkDemoFolder, holdDemo, makeDemoFolder, writeDemoState } from './demo-state.ts'
import { BANK, FREIGHT, connectCompanies, joinCompany, loadAttestation, startService } from './two-companies.ts'
import type { Company } from './two-companies.ts'

const HOST = '127.0.0.1'
const CALL_SECONDS = 10
const SETTINGS = {
  [BANK]: 'NA_NODE_DECISIONS=partners\nNA_DECISION_RELAY_ROLES=role:relay\nNA_PARTNER_ADDRESSES=loopback\n',
  [FREIGHT]: '',
}

/** Runs `demo --two`: a bank with a service, and a freight company with an agent, until they are stopped. */
export async function runTwo(context: CommandContext, options: Options): Promise<Result> {
  for (const name of ['nodes', 'static', 'gateway'])
    if (options.isSet(name)) throw usageError(`--${name} is not used with --two.`)
  const home = resolve(context.cwd, options.text('home') ?? './demo')
  const found = await checkDemoFolder(context, home, { kind: 'two', isReset: options.isSet('reset') })
  const port = choosePort(options, found)
  await requireFreePorts(HOST, [
    { port, use: 'authority of the bank' },
    { port: port + 1, use: 'authority of the freight company' },
    { port: port + 2, use: 'service of the bank' },
  ])
  const state = found ?? { kind: 'two', port, createdAt: context.now(), isComplete: false }
  const undo = found === undefined ? await makeDemoFolder(home, state) : undefined
  if (found !== undefined) holdDemo(home)
  try {
    if (found === undefined) for (const network of [BANK, FREIGHT] as const) await writeCompany(state, home, network)
  } catch (error) {
    await undo?.()
    throw error
  }
  const [bank, freight] = [await startCompany(BANK, home, port), await startCompany(FREIGHT, home, port + 1)]
  const stopped = new AbortController()
  const ended = Promise.all([bank.ended, freight.ended]).then((codes) => {
    stopped.abort()
    return Math.max(...codes)
  })
  const service = await joinCompany(bank, join(home, 'service'), 'role:relay')
  const agent = await joinCompany(freight, join(home, 'agent'), 'role:client')
  if (found === undefined) await connectCompanies(bank, freight)
  const attestation = await loadAttestation(join(home, 'agent.json'), freight, agent, context.now())
  await writeDemoState(home, { ...state, isComplete: true })
  const server = await startService(service, freight, { host: HOST, port: port + 2 })
  const call = agent.fetchWith({ audience: server.url, attestation })
  tellNext(context, home, { bank, freight, service: server.url, attestation_id: attestation.attestation_id })
  await callUntil(context, (path) => call(`${server.url}${path}`), stopped.signal)
  await Promise.all([agent.stop(), service.stop(), server.close()])
  return { exitCode: await ended }
}

/** The bank stores the address of its partner, so the ports of an existing demo stay. */
function choosePort(options: Options, found: DemoState | undefined): number {
  const given = Number(readNumber(options.textOrDefault('port'), 'port', MAX_PORT))
  if (found === undefined) return given
  if (options.isSet('port') && given !== found.port)
    throw usageError(`This demo uses port ${found.port}. Leave out --port, or add --reset to make a new demo.`)
  return found.port
}

interface StartedCompany extends Company {
  readonly ended: Promise<number>
}

function companyHome(home: string, network: string): string {
  return join(home, network.toLowerCase())
}

async function writeCompany(
  { createdAt, port }: DemoState,
  home: string,
  network: typeof BANK | typeof FREIGHT,
): Promise<void> {
  const own = companyHome(home, network)
  const choices = { home: own, network, host: HOST, port: String(network === BANK ? port : port + 1) }
  await prepareHome(own, false, createdAt)
  await writeDemoHome(choices, homeFiles(own), createdAt, { keysOf: `${network} `, settings: SETTINGS[network] })
}

async function startCompany(network: string, home: string, port: number): Promise<StartedCompany> {
  const files = homeFiles(companyHome(home, network))
  const { commands } = await import('@chancery/authority')
  const ended = commands.start({ flags: {}, envFile: files.settings })
  const url = addressOf(HOST, String(port))
  await waitUntilReady(url, ended)
  return { network, url, keys: await demoKeys(`${network} `), config: files.config, ended }
}

interface Started {
  readonly bank: Company
  readonly freight: Company
  readonly service: string
  readonly attestation_id: string
}

function tellNext(context: CommandContext, home: string, { bank, freight, service, attestation_id }: Started): void {
  const at = (path: string): string => typed(context.cwd, path)
  const ask = `chancery ask ledger.read --member-key ${at(join(home, 'agent', 'node.key'))} --attestation ${at(join(home, 'agent.json'))}`
  const lines = [
    `${BANK} serves ${bank.url}/, and its accounts at ${service}/accounts`,
    `${FREIGHT} serves ${freight.url}/; its agent calls the accounts every ${CALL_SECONDS} s`,
    'Ask the bank as the agent:',
    `  ${ask} --issuer ${FREIGHT} --url ${bank.url} --genesis ${at(join(dirname(bank.config), 'genesis.json'))}`,
    'Revoke the agent at home. The bank denies it after its next pull, within 70 s:',
    `  chancery attestation revoke ${attestation_id} --reason left --yes --home .`,
    'The demo keys are public. Do not expose these networks. Press Ctrl-C to stop.',
  ]
  for (const line of lines) context.note(line)
}

/** One in so many calls asks for a path that the treaty does not cover. */
const DENIED_EVERY = 6

/** The agent calls the service until the authorities end, and reports when the response of a path changes. */
async function callUntil(
  context: CommandContext,
  call: (path: string) => Promise<Response>,
  signal: AbortSignal,
): Promise<void> {
  const before = new Map<string, string>()
  for (let turn = 1; !signal.aborted; turn += 1) {
    const path = turn % DENIED_EVERY === 0 ? '/payments' : '/accounts'
    const now = await call(path).then(
      async (response) => `${response.status} ${await response.text()}`,
      () => 'no response',
    )
    if (now !== before.get(path) && !signal.aborted) context.note(`the agent reads the ${path.slice(1)}: ${now}`)
    before.set(path, now)
    await pause(CALL_SECONDS * 1000, undefined, { signal }).catch(() => undefined)
  }
}
