import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { addressOf } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Options } from '../../arguments/options.ts'
import { usageError } from '../../errors/failure.ts'
import { FOR_ALL, typed, writeNewFile } from '../../files/files.ts'
import { homeFiles, prepareHome } from '../init/home.ts'
import { writeDemoHome } from './demo-folder.ts'
import { readNumber, refuseEarlyEnd, requireFreePort, waitUntilReady } from './demo-start.ts'
import { BANK, FREIGHT, connectCompanies, joinCompany, startService } from './two-companies.ts'
import type { Company } from './two-companies.ts'

const HOST = '127.0.0.1'
const MAX_PORT = 65_533
const CALL_SECONDS = 10
const SETTINGS = {
  [BANK]: 'NA_NODE_DECISIONS=partners\nNA_DECISION_RELAY_ROLES=role:relay\nNA_PARTNER_ADDRESSES=loopback\n',
  [FREIGHT]: '',
}

/** Runs `demo --two`: a bank with a service, and a freight company with an agent, until they are stopped. */
export async function runTwo(context: CommandContext, options: Options): Promise<Result> {
  if (options.isSet('nodes')) throw usageError('--nodes is not used with --two.')
  const home = resolve(context.cwd, options.textOrDefault('home'))
  const port = Number(readNumber(options.textOrDefault('port'), 'port', MAX_PORT))
  for (const each of [port, port + 1, port + 2]) await requireFreePort(HOST, each)
  const { undo } = await prepareHome(home, false, context.now())
  const undone = async (error: unknown): Promise<never> => {
    await undo()
    throw error
  }
  const [bank, freight] = [
    await startCompany(context, BANK, home, port).catch(undone),
    await startCompany(context, FREIGHT, home, port + 1).catch(undone),
  ]
  const stopped = new AbortController()
  const ended = Promise.all([bank.ended, freight.ended]).then((codes) => {
    stopped.abort()
    return Math.max(...codes)
  })
  const service = await joinCompany(bank, join(home, 'service'), 'role:relay')
  const agent = await joinCompany(freight, join(home, 'agent'), 'role:client')
  const { attestation, text } = await connectCompanies(bank, freight, agent)
  await writeNewFile(join(home, 'agent.json'), text, FOR_ALL)
  const server = await startService(service, freight, { host: HOST, port: port + 2 })
  const call = agent.fetchAs(server.url, { attestation })
  tellNext(context, home, { bank, freight, service: server.url, attestation_id: attestation.attestation_id })
  await callUntil(context, () => call(`${server.url}/accounts`), stopped.signal)
  await Promise.all([agent.stop(), service.stop(), server.close()])
  return { exitCode: await ended }
}

interface StartedCompany extends Company {
  readonly ended: Promise<number>
}

async function startCompany(
  context: CommandContext,
  network: typeof BANK | typeof FREIGHT,
  home: string,
  port: number,
): Promise<StartedCompany> {
  const choices = { home: join(home, network.toLowerCase()), network, host: HOST, port: String(port) }
  const files = homeFiles(choices.home)
  await prepareHome(choices.home, false, context.now())
  const keys = await writeDemoHome(choices, files, context.now(), {
    keysOf: `${network} `,
    settings: SETTINGS[network],
  })
  const { commands } = await import('@chancery/authority')
  const ended = commands.start({ flags: {}, envFile: files.settings })
  const url = addressOf(HOST, choices.port)
  await Promise.race([waitUntilReady(url), ended.then(refuseEarlyEnd)])
  return { network, url, keys, config: files.config, ended }
}

interface Started {
  readonly bank: Company
  readonly freight: Company
  readonly service: string
  readonly attestation_id: string
}

function tellNext(context: CommandContext, home: string, { bank, freight, service, attestation_id }: Started): void {
  const at = (path: string): string => typed(context.cwd, path)
  const ask = `chancery ask ledger.read --key ${at(join(home, 'agent', 'node.key'))} --presented ${at(join(home, 'agent.json'))}`
  const lines = [
    `${BANK} serves ${bank.url}/, and its accounts at ${service}/accounts`,
    `${FREIGHT} serves ${freight.url}/; its agent calls the accounts every ${CALL_SECONDS} s`,
    'Ask the bank as the agent:',
    `  ${ask} --issuer ${FREIGHT} --url ${bank.url}`,
    'Revoke the agent at home. The bank denies it after its next pull, within 70 s:',
    `  chancery attestation revoke ${attestation_id} --reason left --yes --config ${at(freight.config)}`,
    'The demo keys are public. Do not expose these networks. Press Ctrl-C to stop.',
  ]
  for (const line of lines) context.note(line)
}

/** The agent calls the service until the authorities end, and reports when the response changes. */
async function callUntil(context: CommandContext, call: () => Promise<Response>, signal: AbortSignal): Promise<void> {
  let before = ''
  while (!signal.aborted) {
    const now = await call().then(
      async (response) => `${response.status} ${await response.text()}`,
      () => 'no response',
    )
    if (now !== before && !signal.aborted) context.note(`the agent reads the accounts: ${now}`)
    before = now
    await pause(CALL_SECONDS * 1000, undefined, { signal }).catch(() => undefined)
  }
}
