import { rm } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join, resolve } from 'node:path'
import { DAY, type JsonObject, SECOND, writeInstant } from '@chancery/protocol'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import { timeSpanOrDefault } from '../../arguments/time-span.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { OWNER_ONLY, typed, writeNewFile } from '../../files/files.ts'
import { genesisFingerprint } from '../../files/genesis-file.ts'
import { type Result, fields } from '../../output/screen.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { homeProblem } from '../init/settings-files.ts'
import { replacePolicy } from './follow.ts'
import { gatewayFiles, makeGatewayFolder, refuseUsedFolder } from './gateway-folder.ts'
import type { GatewayFolderOptions, MadeGateway } from './gateway-folder.ts'
import { type PinnedNetwork, pinNetwork, readSource } from './network-source.ts'
import { describeStarted, isPortInUse, refuseUsedPort, startGatewayInBackground } from './start-in-background.ts'
import type { StartedGateway } from './start-in-background.ts'

/** Checks of doctor that cannot pass before the first start of the gateway. */
const AFTER_START: readonly string[] = ['ready', 'state-lock']

/**
 * Runs the checks of `gateway start --check-config --online` and of `doctor` on the files of a gateway. Returns
 * the number of passed checks of doctor, and throws an error with every problem.
 */
async function checkGateway(context: CommandContext, settings: string): Promise<number> {
  const { commands } = await import('@chancery/gateway')
  await checkPolicy(context, settings)
  const findings = (await commands.diagnoseFiles(settings)).filter(({ check }) => !AFTER_START.includes(check))
  const bad = findings.filter(({ status }) => status === 'bad')
  if (bad.length > 0) throw failed(bad.map(({ check, found, fix }) => `${check}: ${found}. ${fix ?? ''}`.trim()))
  return findings.filter(({ status }) => status === 'good').length
}

/** Runs the checks of `gateway start --check-config --online`, also on a draft of the policy. */
export async function checkPolicy(context: CommandContext, settings: string, draftPolicy?: string): Promise<void> {
  const { commands } = await import('@chancery/gateway')
  const report = await commands.checkFiles(settings, draftPolicy)
  for (const warning of report.warnings) context.note(warning)
  if (report.lines.length > 0) throw failed(report.lines)
}

/** Replaces the policy only after a draft of it has passed the checks of a start. */
export async function replaceChecked(
  context: CommandContext,
  folder: string,
  before: JsonObject,
  text: string,
): Promise<void> {
  const files = gatewayFiles(folder)
  const draft = join(folder, `.policy-${context.now()}.json`)
  await writeNewFile(draft, text, OWNER_ONLY)
  try {
    await checkPolicy(context, files.settings, draft)
  } finally {
    await rm(draft, { force: true })
  }
  await replacePolicy(context.cwd, files.policy, before, text)
}

function failed(problems: readonly string[]): CommandError {
  return new CommandError({
    code: 'gateway_check_failed',
    message: 'The gateway would not start with these files. Nothing was changed.',
    problems,
    hint: 'Fix each listed problem, then run the command again. Then: chancery doctor',
  })
}

/** Variables of the shell override the settings file at a start, so an operator must see them. */
export function noteOverrides(context: CommandContext): void {
  const names = Object.keys(context.env).filter((name) => name.startsWith('GATEWAY_'))
  if (names.length === 0) return
  context.note(`${names.join(', ')} in this shell override the settings file; unset them before you start the gateway`)
}

const REQUESTS_PER_MINUTE = 600

/** Runs `gateway init`: writes all files of a gateway for one network, checks them, and starts it with --detach. */
export async function runGatewayInit(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const place = readPlace(context, options)
  await refuseUsedFolder(context.cwd, place.folder)
  const isStarted = options.isSet('detach')
  if (isStarted) await refuseUsedPort(readListener(place.address))
  const source = await readSource(context, options)
  const pinned = await pinNetwork(context, source)
  const network = pinned.genesis.network_name
  if (!isStarted) await noteUsedPort(context, place.address)
  const networks = { [network]: { ...pinned.entry, ...readRules(options) } }
  const made = await makeGatewayFolder({ ...place, networks, now: context.now(), cwd: context.cwd })
  const checks = await checkOrUndo(context, made)
  noteOverrides(context)
  const started = isStarted ? await startGatewayInBackground(context, made.files.settings) : undefined
  return describe(context, { pinned, made, place, checks: pinned.passed + checks, started })
}

async function checkOrUndo(context: CommandContext, { files, undo }: MadeGateway): Promise<number> {
  try {
    return await checkGateway(context, files.settings)
  } catch (error) {
    await undo()
    throw error
  }
}

type Place = Omit<GatewayFolderOptions, 'networks' | 'now' | 'cwd'>

function readPlace(context: CommandContext, options: Options): Place {
  const folder = resolve(context.cwd, options.text('home') ?? '')
  if (!options.isSet('home')) throw usageError('--home must be given: the new folder of the gateway.')
  // A line end would start another setting in the settings file.
  const problem = homeProblem(folder)
  if (problem !== undefined) throw usageError(problem)
  const tokenFile = options.text('token-file')
  if (tokenFile !== undefined && options.isSet('show-token'))
    throw usageError('Give --token-file or --show-token, not both.')
  // A failed start would lose the token.
  if (options.isSet('detach') && options.isSet('show-token'))
    throw usageError('Give --detach or --show-token, not both.')
  const id = options.textOrDefault('client')
  if (!/^[A-Za-z0-9._:-]{1,128}$/.test(id)) throw usageError('--client is 1 to 128 characters of A-Z a-z 0-9 . _ : -')
  const days = timeSpanOrDefault(options, 'valid-for', { unit: 'd', min: 1, max: 3650 })
  return {
    folder,
    address: readAddress(options),
    client: {
      id,
      expiresAt: ((context.now() + BigInt(days) * DAY) / SECOND) * SECOND,
      requestsPerMinute: REQUESTS_PER_MINUTE,
      metrics: options.isSet('metrics'),
    },
    tokenFile: options.isSet('show-token') ? undefined : resolve(context.cwd, tokenFile ?? gatewayFiles(folder).token),
  }
}

/** The gateway listens on an IP address, never on a name. */
function readAddress(options: Options): string {
  const host = options.textOrDefault('host')
  const kind = isIP(host)
  if (kind === 0) throw usageError('--host must be an IP address, for example 127.0.0.1 or 0.0.0.0.')
  const port = wholeNumberOrDefault(options, 'port', 1, 65_535)
  return `${kind === 6 ? `[${host}]` : host}:${port}`
}

/** Members of the policy entry that the operator chooses. */
export function readRules(options: Options): JsonObject {
  return {
    required_roles: [...options.list('role')],
    refresh_seconds: timeSpanOrDefault(options, 'every', { unit: 's', min: 10, max: 3600 }),
  }
}

function readListener(address: string): { readonly host: string; readonly port: number } {
  const [, host = '', port = ''] = /^\[?([^\]]+)\]?:(\d+)$/.exec(address) ?? []
  return { host, port: Number(port) }
}

/** A note, not an error: the gateway may run on another machine. */
async function noteUsedPort(context: CommandContext, address: string): Promise<void> {
  const listener = readListener(address)
  if (!(await isPortInUse(listener))) return
  context.note(
    `another program on this machine uses port ${listener.port}; stop it before you start the gateway, or change GATEWAY_ADDR`,
  )
}

interface Described {
  readonly pinned: PinnedNetwork
  readonly made: MadeGateway
  readonly place: Place
  readonly checks: number
  /** Undefined without --start. */
  readonly started: StartedGateway | undefined
}

function describe(context: CommandContext, { pinned, made, place, checks, started }: Described): Result {
  const { cwd, style } = context
  const { files, token } = made
  const { genesis } = pinned
  const isShown = place.tokenFile === undefined
  const own = `http://${place.address.replace(/^0\.0\.0\.0/, '127.0.0.1').replace(/^\[::\]/, '[::1]')}`
  const command = started === undefined ? 'up' : 'status'
  const next = [`chancery ${command} --home ${typed(cwd, place.folder)}`, `curl ${own}/ready`]
  const until = writeInstant(place.client.expiresAt)
  const fingerprint = genesisFingerprint(genesis)
  const secret = isShown ? `${token} (shown once; store it now)` : `${typed(cwd, files.token)} (a secret)`
  const rows: [string, string][] = [
    ['genesis block', `${fingerprint} (signed by the given root key)`],
    ['policy', typed(cwd, files.policy)],
    ['settings', typed(cwd, files.settings)],
    ['state', typed(cwd, files.state)],
    ['caller token', secret],
    ['client', `${place.client.id}, until ${until}; the policy has only the digest of the token`],
    ['checks', `${checks} passed`],
  ]
  const data = {
    folder: place.folder,
    network: genesis.network_name,
    genesis_fingerprint: fingerprint,
    files: { policy: files.policy, settings: files.settings, state: files.state },
    client: { id: place.client.id, expires_at: until },
    ...(isShown ? { token } : { token_file: files.token }),
    checks_passed: checks,
    started: started === undefined ? null : { ...started },
    next,
  }
  const head = `${style.good('Made')} a gateway for ${genesis.network_name} in ${typed(cwd, place.folder)}.`
  const running = started === undefined ? '' : `\n\n${describeStarted(context, started)}`
  const steps = next.map((line) => `  ${line}`).join('\n')
  return { data, text: `${head}\n${fields(rows, style)}${running}\n\n${style.title('Next:')}\n${steps}` }
}
