import { basename, dirname, join, resolve } from 'node:path'
import { rm } from 'node:fs/promises'
import { type JsonObject, type JsonValue, isJsonObject, readAttestation, writeInstant } from '@chancery/protocol'
import { TokenRefusedError } from '@chancery/sdk'
import { requestToken } from '@chancery/sdk/internal'
import { connectAsNode, findCertificate } from '../../connection/node-folder.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { OWNER_ONLY, typed, writeNewFile } from '../../files/files.ts'
import { loadRecord } from '../../files/json-file.ts'
import { type Result, fields } from '../../output/screen.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { noteOverrides, replaceChecked } from './init.ts'
import { gatewayFiles, policyFileText } from './gateway-folder.ts'
import { loadPolicyFile } from './follow.ts'

type Algorithm = 'ES256' | 'EdDSA' | 'RS256'

/** Of a first key: tokens are issued at once. */
const FIRST_KEY = 'token-1.pem'
/** Services keep a key set for up to an hour. */
const PUBLISHED_FIRST = 7_200_000_000n

/** Runs `gateway enable tokens`: adds a first key and one service to the policy of a gateway. */
export async function runEnableTokens(context: CommandContext, options: Options): Promise<Result> {
  const { cwd, style } = context
  const needed = ['issuer', 'resource', 'scope'].filter((name) => !options.isSet(name))
  if (needed.length > 0) throw usageError(`Access tokens need --${needed.join(', --')}.`)
  const folder = resolve(cwd, options.text('home') ?? '.')
  const files = gatewayFiles(folder)
  const before = await loadPolicyFile(cwd, files.policy)
  if (Object.hasOwn(before, 'oauth'))
    throw new CommandError({
      code: 'tokens_enabled',
      message: `${typed(cwd, files.policy)} has access tokens already.`,
      hint: 'Nothing was changed. Add a service to oauth.resources of the policy, then reload the gateway.',
    })
  const networks = before['networks']
  if (!isJsonObject(networks)) throw usageError(`${typed(cwd, files.policy)} is not a gateway policy.`, ENABLE_HINT)
  const network = chooseNetwork(Object.keys(networks), options.text('authority'))
  const { commands } = await import('@chancery/gateway')
  const alg = options.textOrDefault('alg') as Algorithm
  const { pem, kid } = commands.newTokenKey(alg)
  const keyFile = join(folder, FIRST_KEY)
  const next = {
    ...before,
    revision: writeInstant(context.now()),
    networks: { ...networks, [network]: withDecisions(context, networks[network] ?? {}, options) },
    oauth: oauthOf(context, { network, keyFile, alg }, options),
  }
  await writeNewFile(keyFile, pem, OWNER_ONLY)
  try {
    await replaceChecked(context, folder, before, policyFileText(next))
  } catch (error) {
    await rm(keyFile, { force: true })
    throw error
  }
  noteOverrides(context)
  const name = options.textOrDefault('name')
  const rows: [string, string][] = [
    ['service', `${name} (${options.required('resource')})`],
    ['key', `${typed(cwd, keyFile)} (${alg}, ${kid})`],
    ['key set', `${options.required('issuer')}/oauth/jwks`],
  ]
  const steps = [
    'kill -HUP <process id of the gateway>',
    `chancery gateway resource-metadata ${name} --home ${typed(cwd, folder)}`,
  ]
  const text = `${style.good('Enabled')} access tokens.\n${fields(rows, style)}\n\n${style.title('Next:')} reload the gateway, and print what the service needs:\n  ${steps.join('\n  ')}`
  return { data: { network, name, kid, key_file: keyFile, policy: files.policy, next: steps }, text }
}

const ENABLE_HINT = 'Give --home with the folder that chancery gateway init made.'

function chooseNetwork(names: readonly string[], given: string | undefined): string {
  const [only, ...more] = names
  if (given === undefined && only !== undefined && more.length === 0) return only
  if (given !== undefined && names.includes(given)) return given
  const message = given === undefined ? 'The policy has several networks.' : 'The policy has no such network.'
  throw usageError(message, `Choose whose authority decides with --authority: ${names.join(', ')}`)
}

/** The node that asks as a relay, unless the policy names one already. */
function withDecisions({ cwd }: CommandContext, network: JsonValue, options: Options): JsonObject {
  const entry = isJsonObject(network) ? network : {}
  const node = options.text('node')
  if (node === undefined && Object.hasOwn(entry, 'decisions')) return entry
  if (node === undefined)
    throw usageError(
      'The gateway needs a node that asks for decisions.',
      'Give --node <dir>, which chancery join made.',
    )
  const home = resolve(cwd, node)
  const decisions = { key_file: join(home, 'node.key'), certificate_file: join(home, 'certificate.json') }
  return { ...entry, decisions }
}

function oauthOf(
  { now }: CommandContext,
  { network, keyFile, alg }: { readonly network: string; readonly keyFile: string; readonly alg: Algorithm },
  options: Options,
): JsonObject {
  const scopes = options.list('scope').map((text) => {
    const at = text.indexOf('=')
    return at < 0 ? [text, text] : [text.slice(0, at), text.slice(at + 1)]
  })
  const callers = options.list('caller')
  return {
    issuer: options.required('issuer'),
    signing_keys: [{ file: keyFile, sign_from: writeInstant(now()) }],
    resources: {
      [options.textOrDefault('name')]: {
        resource: options.required('resource'),
        network,
        ...(callers.length === 0 ? {} : { callers: [...callers] }),
        scopes: Object.fromEntries(scopes),
        alg,
        metadata: true,
        ...(options.isSet('bearer') ? { token_binding: 'bearer' } : {}),
      },
    },
  }
}

/** Runs `gateway token-key new`: writes a key that begins to sign after services have read it. */
export async function runTokenKeyNew(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { cwd, style, now } = context
  const file = resolve(cwd, options.required('out'))
  const { commands } = await import('@chancery/gateway')
  const { pem, kid } = commands.newTokenKey(options.textOrDefault('alg') as Algorithm)
  await writeNewFile(file, pem, OWNER_ONLY)
  const entry = { file, sign_from: writeInstant(now() + PUBLISHED_FIRST) }
  const text = `${style.good('Created')} ${typed(cwd, file)} (${kid}). Add this to oauth.signing_keys, then reload:\n${JSON.stringify(entry)}`
  return { data: { kid, entry }, text }
}

/** Runs `gateway token-key list` and `gateway token-key pem`. */
export async function runTokenKeys(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { keys } = await describe(context, options)
  if (context.command.path[2] === 'list') {
    const rows = keys.map((key): [string, string] => [
      key.kid,
      `${key.alg} from ${key.sign_from}${key.signs ? ', signs now' : ''}`,
    ])
    return { data: { keys: [...keys] as unknown as JsonValue }, text: fields(rows, context.style) }
  }
  const kid = options.text('kid')
  const [key, ...more] = keys.filter((each) => (kid === undefined ? each.signs : each.kid === kid))
  if (key === undefined || more.length > 0)
    throw usageError(
      'The policy has no such key, or several.',
      `Choose one with --kid: ${keys.map((each) => each.kid).join(', ')}`,
    )
  return { data: { kid: key.kid, public_pem: key.public_pem }, text: key.public_pem.trimEnd() }
}

/** Runs `gateway resource-metadata`. */
export async function runResourceMetadata(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { resources } = await describe(context, options)
  const name = args.required('name')
  const found = resources.find((each) => each.name === name)
  if (found === undefined)
    throw usageError('The policy has no such service.', `Services: ${resources.map((each) => each.name).join(', ')}`)
  const { metadata, address, challenge } = found
  const rows: [string, string][] = [
    ['publish at', address],
    ['challenge', `WWW-Authenticate: ${challenge}`],
  ]
  return {
    data: { metadata, address, challenge },
    text: `${JSON.stringify(metadata, undefined, 2)}\n\n${fields(rows, context.style)}`,
  }
}

async function describe({ cwd }: CommandContext, options: Options) {
  const { commands } = await import('@chancery/gateway')
  const { settings } = gatewayFiles(resolve(cwd, options.text('home') ?? '.'))
  try {
    return await commands.describeTokens(settings)
  } catch (error) {
    const problems = commands.expectedLines(error)
    if (problems === undefined) throw error
    const hint = `Fix each listed problem. See: chancery doctor --home ${typed(cwd, dirname(settings))}`
    throw new CommandError(
      { code: 'gateway_check_failed', message: `${basename(settings)} cannot be used.`, problems, hint },
      { cause: error },
    )
  }
}

/** Runs `gateway token get`: what an agent does with the library, for a test. */
export async function runTokenGet(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { signer, files } = await connectAsNode(context, options)
  const certificate = await findCertificate(files.certificate)
  if (certificate === undefined)
    throw usageError('The node has no certificate.', 'Join first. See: chancery join --help')
  const file = options.text('attestation')
  const attestation = file === undefined ? undefined : await loadRecord(context.cwd, file, ATTESTATION)
  const scopes = options.list('scope')
  const request = {
    resource: options.required('resource'),
    bearer: options.isSet('bearer'),
    ...(scopes.length === 0 ? {} : { scopes }),
    ...(attestation === undefined ? {} : { attestation }),
  }
  const identity = { signer, certificate, clock: context.now, fetch: globalThis.fetch }
  try {
    const {
      token,
      type,
      scopes: granted,
      expiresAt,
      decisions,
      denied,
    } = await requestToken(options.required('issuer'), request, identity)
    const rows: [string, string][] = [
      ['type', type],
      ['scopes', granted.join(' ')],
      ['until', writeInstant(expiresAt)],
      ...decisions.map(({ scope, id }): [string, string] => [`decision on ${scope}`, id]),
      ...denied.map(({ scope, reason }): [string, string] => [`denied: ${scope}`, reason]),
    ]
    const data = { token, type, scopes: granted, expires_at: writeInstant(expiresAt), decisions, denied }
    return { data: data as unknown as JsonObject, text: fields(rows, context.style) }
  } catch (error) {
    if (!(error instanceof TokenRefusedError)) throw error
    throw new CommandError(
      {
        code: error.reason === '' ? 'token_refused' : error.reason,
        message: error.message,
        hint: 'See docs/reference/errors.md for the reason.',
      },
      { cause: error },
    )
  }
}

const ATTESTATION = { name: 'an attestation', member: 'attestation', read: readAttestation } as const
