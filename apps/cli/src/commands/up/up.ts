import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { addressOf } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { OWNER_ONLY, typed, writeNewFile } from '../../files/files.ts'
import { genesisFingerprint } from '../../files/genesis-file.ts'
import { type Result, fields, table } from '../../output/screen.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { report } from '../doctor/report.ts'
import { describeBackground, startInBackground } from './background.ts'
import { logFile } from './running.ts'
import { checkMachine } from './check-machine.ts'
import { type Plan, planData, prepareNetwork, readPlan } from './plan.ts'
import { authorityOf, startHere } from './start-authority.ts'
import { UNIT_NAME, composeText, serviceFile, unitText } from './service-files.ts'
import { serviceIn, startFolder } from './services.ts'
import { join, resolve } from 'node:path'
import { loadService } from '../../process.ts'
import { type GenesisBlock, type Instant, sha256Hex, toUtf8, writeInstant } from '@chancery/protocol'
import type { HomeFiles } from '../init/home.ts'
import { KEY_IDS } from '../init/settings-files.ts'

export interface SheetInputs {
  readonly genesis: GenesisBlock
  readonly files: HomeFiles
  readonly operatorKey: string
  readonly now: Instant
}

/**
 * Returns the recovery sheet of a network: what to keep where, fingerprints of the public keys, and what to do after a
 * loss. It contains no private key.
 */
function recoverySheet({ genesis, files, operatorKey, now }: SheetInputs): string {
  const { network_authority: authority, root_public_key: root } = genesis
  const keys = [
    ['root', KEY_IDS.root, root, fingerprint(root)],
    ['authority', KEY_IDS.authority, authority.public_key, fingerprint(authority.public_key)],
    ['operator', KEY_IDS.operator, operatorKey, fingerprint(operatorKey)],
  ]
  return [
    `Recovery sheet of ${genesis.network_name}`,
    'Print this sheet, or store it away from this machine. It contains no private key.',
    '',
    fields([
      ['written', writeInstant(now - (now % 1_000_000n))],
      ['genesis block', genesisFingerprint(genesis)],
      ['authority key', `valid until ${authority.valid_to}; plan its successor before that date`],
    ]),
    '',
    table(['KEY', 'KEY ID', 'PUBLIC KEY', 'FINGERPRINT'], keys),
    '',
    table(['PRIVATE FILE', 'WHERE IT IS NOW', 'WHERE TO KEEP IT'], privateFiles(files)),
    '',
    'After a loss',
    fields([
      ['machine', 'restore the last backup on a new machine: chancery authority restore (docs/operate/backup.md)'],
      ['authority key', 'sign a successor with the root key (docs/operate/keys.md)'],
      ['operator key', 'node revoke it with another privileged operator: chancery operator revoke'],
      ['root key', 'create a new network; no other key can replace the root key'],
    ]),
    '',
  ].join('\n')
}

function privateFiles(files: HomeFiles): readonly (readonly string[])[] {
  return [
    ['root key', existing(`${files.root}.key`), 'offline, two copies in two places; then delete it here'],
    ['authority key', `${files.authority}.key`, 'here, and one encrypted copy offline'],
    ['operator key', existing(`${files.operator}.key`), 'on the machine of the operator'],
    ['database', files.database, 'here, with a backup each night on another machine'],
    ['settings', files.settings, 'here, and with the backup'],
  ]
}

/** The operator moves these two files away. */
function existing(file: string): string {
  return existsSync(file) ? file : 'not in this folder any more'
}

/** Short enough to compare on the telephone. */
function fingerprint(publicKey: string): string {
  return (sha256Hex(toUtf8(publicKey)).slice(0, 32).match(/.{4}/g) ?? []).join(' ')
}

/** Runs `up`: starts what is in the folders. An empty folder gets a network first. */
export async function runUp(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const homes = options.list('home')
  if (homes.length > 1) return startSeveral(context, args, options)
  const [home] = homes
  const place = home === undefined ? undefined : serviceIn(resolve(context.cwd, home))
  if (place === undefined || place.name === 'authority') return startNetwork(context, options)
  const unused = ['name', 'port', 'host', 'out', 'systemd', 'compose'].find((each) => options.isSet(each))
  if (unused !== undefined) throw usageError(`--${unused} is for a network. ${home ?? ''} has a ${place.name}.`)
  const settings = place.name === 'gateway' ? join(place.folder, 'gateway.env') : place.folder
  if (options.isSet('detach')) return startFolder(context, { kind: place.name, settings })
  if (place.name === 'node')
    return (await import('../enrollment/run.ts')).runNodeRun(
      context,
      args,
      options.with({ status: undefined, crl: undefined, once: undefined }),
    )
  const { commands } = await loadService(() => import('@chancery/gateway'))
  return { exitCode: await commands.start({ action: 'start', json: context.json, online: false, envFile: settings }) }
}

/** Several folders run in the background only: a terminal shows one service. */
async function startSeveral(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  if (!options.isSet('detach')) throw usageError('Several folders need --detach.', 'A terminal shows one service.')
  const started: Result[] = []
  for (const home of options.list('home')) started.push(await runUp(context, args, options.with({ home: [home] })))
  const text = started.map((each) => each.text ?? '').join('\n\n')
  return { data: { services: started.map(({ data = {} }) => data) }, ids: started.flatMap(({ ids = [] }) => ids), text }
}

/** Checks the machine, creates a network with its recovery sheet when there is none, and starts its authority. */
async function startNetwork(context: CommandContext, options: Options): Promise<Result> {
  const plan = await readPlan(context, options)
  const checks = await requireMachine(context, plan)
  const { genesis, operatorKey } = await prepareNetwork(context, plan)
  const sheet = recoverySheet({ genesis, files: plan.files, operatorKey, now: context.now() })
  if (plan.sheetFile !== undefined) await writeNewFile(plan.sheetFile, sheet, OWNER_ONLY)
  const service = await writeService(context, plan)
  const next = nextSteps(context, plan)
  const url = addressOf(plan.choices.host, plan.choices.port)
  const data = {
    ...planData(plan),
    genesis_fingerprint: genesisFingerprint(genesis),
    console: `${url}/`,
    address: url,
    service_file: service ?? null,
    next: next.map(({ line }) => line),
  }
  const head = `${checks}\n\n${madeLine(context, plan)}\n\n${describeSheet(context, plan, sheet)}`
  const end = describeEnd(context, plan, { url, next })
  if (plan.mode === 'background') await startInBackground(context, authorityOf(plan))
  if (plan.mode !== 'foreground') return { data, text: `${head}\n\n${end}` }
  if (!context.json) context.stdout.write(`${head}\n`)
  return startHere(context, plan, () => (context.json ? `${JSON.stringify(data)}\n` : `\n${end}\n`))
}

/** Throws with every problem of the machine, so that nothing is created on it. */
async function requireMachine(context: CommandContext, { choices }: Plan): Promise<string> {
  const { home, host, port } = choices
  const findings = await checkMachine({ home, host, port: Number(port), now: context.now() })
  const bad = findings.filter(({ status }) => status === 'bad')
  if (bad.length === 0) return report(findings, context.style).text ?? ''
  throw new CommandError({
    code: 'machine_not_ready',
    message: 'This machine is not ready. Nothing was created.',
    problems: bad.map(({ check, found, fix }) => `${check}: ${found}. ${fix ?? ''}`.trim()),
    hint: 'Fix each listed problem, then run the same command again.',
  })
}

function madeLine({ cwd, style }: CommandContext, { choices, isNew }: Plan): string {
  const at = `${choices.network} in ${typed(cwd, choices.home)}`
  return isNew
    ? `${style.good('Made')} network ${at}.`
    : `${style.good('Found')} network ${at}. Its keys were not changed.`
}

function describeSheet({ cwd }: CommandContext, { sheetFile }: Plan, sheet: string): string {
  return sheetFile === undefined ? sheet.trimEnd() : `The recovery sheet is in ${typed(cwd, sheetFile)}. Print it.`
}

/** Writes the file for systemd or Compose. Returns its path. */
async function writeService(context: CommandContext, { mode, choices, files }: Plan): Promise<string | undefined> {
  if (mode !== 'systemd' && mode !== 'compose') return undefined
  const { username, uid, gid } = userInfo()
  const inputs = { choices, files, user: { name: username, uid, gid } }
  const file = serviceFile(files, mode)
  if (uid === 0)
    context.note(
      `the service will run as root; create a user with useradd --system, give it ${typed(context.cwd, choices.home)}, and change the user in ${typed(context.cwd, file)}`,
    )
  await writeNewFile(file, mode === 'systemd' ? unitText(inputs) : composeText(inputs), OWNER_ONLY)
  return file
}

/** The command that starts the authority, where `up` does not start it itself. */
function startLines({ cwd }: CommandContext, { mode, files }: Plan): readonly string[] {
  if (mode === 'systemd') {
    const file = typed(cwd, serviceFile(files, mode))
    return [
      `sudo install -m 0644 ${file} /etc/systemd/system/`,
      'sudo systemctl daemon-reload',
      `sudo systemctl enable --now ${UNIT_NAME}`,
    ]
  }
  if (mode === 'compose') return [`docker compose -f ${typed(cwd, serviceFile(files, mode))} up -d`]
  return []
}

interface NextStep {
  readonly title: string
  readonly line: string
}

function nextSteps({ cwd }: CommandContext, { files, choices }: Plan): readonly NextStep[] {
  const at = (path: string): string => typed(cwd, path)
  const steps: readonly NextStep[] = [
    {
      title: 'Invite the first node',
      line: `chancery invite create --role role:client --out invite.token --home ${at(choices.home)}`,
    },
    {
      title: 'Make the first backup',
      line: `chancery authority backup --home ${at(choices.home)} --out ${at(`${choices.home}-backup`)}`,
    },
    {
      title: 'Protect a service with a gateway',
      line: `chancery gateway init --home ${at(`${choices.home}-gateway`)} --genesis ${at(files.genesis)}`,
    },
  ]
  return steps.slice(0, 3)
}

function describeEnd(
  context: CommandContext,
  plan: Plan,
  { url, next }: { readonly url: string; readonly next: readonly NextStep[] },
): string {
  const { cwd, style } = context
  const start = startLines(context, plan)
  const isLocal = /^(?:127\.|localhost$|::1$)/.test(plan.choices.host)
  const lines = [
    ...(start.length === 0 ? [] : [style.title('Start it:'), ...start.map((line) => `  ${line}`), '']),
    `${style.title('Console:')} ${url}/`,
    `  operator page: ${url}/operator, with the key ${typed(cwd, `${plan.files.operator}.key`)}`,
    ...(isLocal ? [] : ['  This is plain HTTP. Put a proxy with TLS in front: docs/operate/deploy.md']),
    '',
    ...(existsSync(`${plan.files.root}.key`)
      ? [`Move ${typed(cwd, `${plan.files.root}.key`)} to a machine without network.`, '']
      : []),
    style.title('Next three steps:'),
    ...next.flatMap(({ title, line }, index) => [`  ${index + 1}. ${title}`, `     ${line}`]),
  ]
  const service = authorityOf(plan)
  if (plan.mode === 'foreground')
    lines.push('', `The authority runs until you press Ctrl-C. Its log is ${typed(cwd, logFile(service))}.`)
  if (plan.mode === 'background') lines.push('', describeBackground(context, service))
  return lines.join('\n')
}
