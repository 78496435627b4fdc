import { join, resolve } from 'node:path'
import { DAY, type JsonObject, SECOND, asJson, isJsonObject, writeInstant } from '@chancery/protocol'
import type { Arguments, Options } from '../../arguments/options.ts'
import { timeSpanOrDefault } from '../../arguments/time-span.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { OWNER_ONLY, readText, typed, writeNewFile } from '../../files/files.ts'
import { loadStructured } from '../../files/json-file.ts'
import { type Result, fields } from '../../output/screen.ts'
import { type LoadedPolicy, loadPolicy } from './add-network.ts'
import { replaceChecked } from './init.ts'
import { runEnableTokens } from './tokens.ts'
import { policyFileText } from './gateway-folder.ts'

const REQUESTS_PER_MINUTE = 600

interface Token {
  readonly token: string
  readonly token_sha256: string
  /** False for a token that a file had already. */
  readonly isNew: boolean
}

/** Runs `gateway client add`: the policy has only the digest of the token. */
export async function runClientAdd(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const id = args.required('id')
  if (!/^[A-Za-z0-9._:-]{1,128}$/.test(id)) throw usageError('A client is 1 to 128 characters of A-Z a-z 0-9 . _ : -')
  const days = timeSpanOrDefault(options, 'valid-for', { unit: 'd', min: 1, max: 3650 })
  const expires_at = writeInstant(((context.now() + BigInt(days) * DAY) / SECOND) * SECOND)
  const folder = resolve(cwd, options.text('home') ?? '.')
  const file = resolve(cwd, options.text('token-file') ?? join(folder, `${id}.token`))
  const entry = (token: Token, networks: readonly string[]): JsonObject => ({
    id,
    token_sha256: token.token_sha256,
    networks: [...networks],
    requests_per_minute: REQUESTS_PER_MINUTE,
    expires_at,
    ...(options.isSet('metrics') ? { metrics: true } : {}),
  })
  if (options.isSet('dry-run')) {
    const token = await newToken()
    const data = { token: token.token, token_sha256: token.token_sha256, entry: entry(token, options.list('only')) }
    return { data, text: `${token.token}\n${token.token_sha256}\nNothing was changed.` }
  }
  const policy = await loadPolicy(cwd, folder)
  if (policy.clients.some((each) => each['id'] === id))
    throw new CommandError({ code: 'client_exists', message: `The policy has a client ${id} already.` })
  const token = options.isSet('token-file') ? await readOrMake(file) : await newToken()
  const made = entry(token, options.list('only').length > 0 ? options.list('only') : Object.keys(policy.networks))
  const next = { ...policy.all, revision: writeInstant(context.now()), clients: [...policy.clients, made] }
  await replaceChecked(context, folder, policy.all, policyFileText(next))
  if (token.isNew) await writeNewFile(file, `${token.token}\n`, OWNER_ONLY)
  const rows = fields(
    [
      ['token', `${typed(cwd, file)} (a secret)`],
      ['until', expires_at],
    ],
    style,
  )
  const text = `${style.good('Added')} ${id} to the gateway.\n${rows}\n\nReload the gateway (SIGHUP) to use it.`
  return { data: asJson({ client: made, token_file: file }), ids: [file], text }
}

async function newToken(): Promise<Token> {
  const { commands } = await import('@chancery/gateway')
  return { ...(commands.newToken().data as { token: string; token_sha256: string }), isNew: true }
}

/** The token of a file, which stays as it is; a new one when there is no file. */
async function readOrMake(file: string): Promise<Token> {
  const text = await readText(file).catch((error: unknown) => {
    if (error instanceof CommandError && error.exitCode === 2) return undefined
    throw error
  })
  if (text === undefined) return newToken()
  const { commands } = await import('@chancery/gateway')
  const { data = {}, text: problem, exitCode } = commands.tokenDigest(text.trim())
  if (exitCode !== 0) throw usageError(problem ?? 'This is no token.')
  return { token: text.trim(), token_sha256: String(data['token_sha256']), isNew: false }
}

/** Runs `gateway enable`: writes the members of a feature into the policy, after the checks of a start. */
export async function runGatewayEnable(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const feature = args.required('feature')
  if (feature === 'tokens') return runEnableTokens(context, options)
  const folder = resolve(cwd, options.text('home') ?? '.')
  const policy = await loadPolicy(cwd, folder)
  const config = options.text('config')
  if (config === undefined) throw usageError(`${feature} needs --config with the member for the policy.`)
  const members = await loadStructured(cwd, config)
  const changed = feature === 'authzen' ? withAuthzen(policy, members) : { ...policy.all, check: members }
  const revision = writeInstant(context.now())
  await replaceChecked(context, folder, policy.all, policyFileText({ ...changed, revision }))
  const text = `${style.good('Enabled')} ${feature}. Reload the gateway (SIGHUP) to use it.`
  return { data: { feature, revision }, text }
}

/** `decisions` belongs to the network that decides; every client may ask. */
function withAuthzen({ all, networks, clients }: LoadedPolicy, members: JsonObject): JsonObject {
  const { network, decisions = null, decision_point_url: url = null, ...rest } = members
  const [unknown] = Object.keys(rest)
  if (unknown !== undefined)
    throw usageError(`${unknown} is no member for authzen.`, 'Give decisions and decision_point_url.')
  const names = Object.keys(networks)
  const name = typeof network === 'string' ? network : names.length === 1 ? (names[0] ?? '') : ''
  const entry = networks[name]
  if (entry === undefined || !isJsonObject(entry))
    throw usageError('The file must name the network whose authority decides, in the member network.')
  return {
    ...all,
    decision_point_url: url,
    networks: { ...networks, [name]: { ...entry, decisions } },
    clients: clients.map((each) => ({ ...each, decisions: true })),
  }
}
