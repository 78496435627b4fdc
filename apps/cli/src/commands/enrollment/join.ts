import { mkdir } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { GenesisBlock, JoinCertificate, Signer } from '@chancery/protocol'
import { RefusedError, UnreachableError } from '@chancery/sdk'
import type { JoinRequest } from '@chancery/sdk/authority'
import { freshEvidence } from '@chancery/sdk/internal'
import { loadSaved } from '../../connection/target.ts'
import { type Config, NO_CONFIG, readConfig } from '../../files/config.ts'
import { type Connection, type Endpoint, open } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, fields } from '../../output/screen.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { FOR_ALL, errorCode, readText, replaceFile, toFailure, typed, writeNewFile } from '../../files/files.ts'
import { genesisFingerprint, writeGenesisText } from '../../files/genesis-file.ts'
import { makeKeyPair } from '../../files/keys.ts'
import {
  findCertificate,
  storeCertificate,
  loadNodeSigner,
  nodeConfigText,
  nodeFiles,
  requireOwnCertificate,
} from '../../connection/node-folder.ts'
import { type StoredEvidence, readEvidenceOptions, toEvidence } from '../../connection/evidence.ts'
import { timeSpan } from '../../arguments/time-span.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { findPins, readToken, requirePinned } from './pin.ts'

type Files = ReturnType<typeof nodeFiles>

/**
 * Runs `join`: makes all checks before it sends the token, and saves everything except the certificate before the token
 * is used.
 */
export async function runJoin(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const home = resolve(context.cwd, requireHome(options))
  const files = nodeFiles(home)
  const validity_hours = timeSpan(options, 'valid-for', { unit: 'h', min: 1, max: Number.MAX_SAFE_INTEGER })
  const config = await findJoinConfig(context, options, files)
  const url = options.text('url') ?? config.network.na_endpoint
  if (url === undefined)
    throw usageError('--url must be given.', 'Ask the operator who made the invite for the address.')
  const evidence = readEvidenceOptions(context, options)
  const token = evidence === undefined ? await readToken(context, options) : ''

  const pins = await findPins({ cwd: context.cwd, given: options.text('genesis'), saved: files.genesis, config })
  const otherKey = open(context, toEndpoint(url, config))
  const genesis = await otherKey.ask((client) => client.sovereign.genesis())
  // Without a valid key history, another block is another network.
  await requirePinned(genesis, pins, url, () =>
    otherKey.ask((client) => client.sovereign.keyHistory()).catch(() => undefined),
  )
  if (pins.length === 0 && !options.isSet('trust-first-use')) throw notPinned(url, genesis)
  if (pins.length === 0)
    context.note(`the authority is trusted on first use; compare the fingerprint ${genesisFingerprint(genesis)}`)

  const { signer, isNewKey } = await prepareHome(context, { home, files, genesis, url, evidence })
  const connection = open(context, toEndpoint(url, config, genesis), {
    node: { signer, audience: genesis.network_authority.public_key },
  })
  const earlier = await findCertificate(files.certificate)
  const validity = validity_hours === undefined ? {} : { validity_hours }
  const authorityKey = genesis.network_authority.public_key
  const certificate =
    evidence === undefined
      ? await requestCertificate(connection, { invite_token: token, ...validity })
      : await requestCertificate(connection, {
          evidence: await freshEvidence(toEvidence(context, evidence), authorityKey, signer.publicKey),
          ...validity,
        })
  await requireOwnCertificate(certificate, { keys: { genesis }, publicKey: signer.publicKey, now: context.now() })
  if (earlier !== undefined) context.note(`the earlier certificate ${earlier.cert_id} is replaced`)
  await storeCertificate(files, certificate)
  return describe(context, { home, files, genesis, certificate, isNewKey, isPinned: pins.length > 0, url, evidence })
}

function requireHome(options: Options): string {
  const home = options.text('home')
  if (home === undefined) throw usageError('--home must be given: the folder of the node.')
  return home
}

function toEndpoint(url: string, config: Config, genesis?: GenesisBlock): Endpoint {
  return { url, config, genesis, authorityKey: genesis?.network_authority.public_key }
}

/** Reads the configuration in the home if there is one, so that joining again needs no address. */
async function findJoinConfig(context: CommandContext, options: Options, files: Files): Promise<Config> {
  const own = await readText(files.config).catch((error: unknown) => {
    if (error instanceof CommandError && errorCode(error.cause) === 'ENOENT') return undefined
    throw error
  })
  const saved = own === undefined ? undefined : readConfig(files.config, own)
  // Only the folder itself, a named network, or the options say which network is joined.
  const named = options.text('network')
  const config = saved ?? (named === undefined ? NO_CONFIG : await loadSaved(context, named, '--network'))
  for (const warning of config.warnings) context.note(warning)
  if (saved === undefined || saved.paths.node_private_key !== undefined) return config
  const hint = 'Choose another folder: nodes and authorities use different files.'
  throw new CommandError({
    code: 'folder_in_use',
    message: `${dirname(files.config)} is not the folder of a node.`,
    hint,
  })
}

/** The token would go to any server that answers. */
function notPinned(url: string, genesis: GenesisBlock): CommandError {
  return usageError(
    `The network is not pinned. ${url} claims to be ${genesis.network_name}, ${genesisFingerprint(genesis)}.`,
    'Nothing was sent. Compare this with the operator, and give it with --genesis; or add --trust-first-use.',
  )
}

interface Home {
  readonly home: string
  readonly files: Files
  readonly genesis: GenesisBlock
  readonly url: string
  readonly evidence: StoredEvidence | undefined
}

/** Writes key, genesis block and configuration. Existing files stay, above all the key. */
async function prepareHome(
  context: CommandContext,
  { home, files, genesis, url, evidence }: Home,
): Promise<{ signer: Signer; isNewKey: boolean }> {
  try {
    // Only the home itself is closed to others, not the folders above it.
    await mkdir(dirname(home), { recursive: true })
    await mkdir(home, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw toFailure(error, home, 'made')
  }
  const isNewKey = await readText(files.privateKey).then(
    () => false,
    (error: unknown) => {
      if (error instanceof CommandError && errorCode(error.cause) === 'ENOENT') return true
      throw error
    },
  )
  if (isNewKey) await makeKeyPair({ base: files.keyBase, keyId: undefined })
  await writeNewFile(files.genesis, writeGenesisText(genesis), FOR_ALL).catch((error: unknown) => {
    // The saved block is one of the pins, so it is the same network.
    if (!(error instanceof CommandError) || error.code !== 'file_exists') throw error
  })
  await replaceFile(files.config, nodeConfigText(genesis, url, evidence), FOR_ALL)
  return { signer: await loadNodeSigner(context, files.privateKey), isNewKey }
}

async function requestCertificate(connection: Connection, request: JoinRequest): Promise<JoinCertificate> {
  try {
    return await connection.ask((client) => client.enrollment.join(request))
  } catch (error) {
    const isUnknown =
      (error instanceof CommandError && error.cause instanceof UnreachableError && error.cause.sent === 'perhaps') ||
      (error instanceof RefusedError && error.outcomeUncertain)
    if (!isUnknown || request.evidence !== undefined) throw error
    throw new CommandError(
      {
        code: 'outcome_unknown',
        message: `No answer from ${connection.url}: the token may be used up, and the certificate did not arrive.`,
        hint: 'Run the same command again. If the token is refused then, ask an operator for a new invite.',
      },
      { cause: error },
    )
  }
}

interface Joined extends Home {
  readonly certificate: JoinCertificate
  readonly isNewKey: boolean
  readonly isPinned: boolean
}

function describe({ cwd, style }: CommandContext, joined: Joined): Result {
  const { home, files, genesis, certificate, isNewKey, isPinned, url, evidence } = joined
  const [stay, status] = [`chancery node run --home ${typed(cwd, home)}`, `chancery status --home ${typed(cwd, home)}`]
  const fingerprint = genesisFingerprint(genesis)
  const data = {
    home,
    url,
    network: genesis.network_name,
    genesis_fingerprint: fingerprint,
    pinned: isPinned,
    node_public_key: certificate.node_public_key,
    new_key: isNewKey,
    certificate,
    ...(evidence === undefined ? {} : { evidence: { ...evidence } }),
    next: [stay, status],
  }
  const rows = fields(
    [
      ['certificate', certificate.cert_id],
      ['roles', certificate.roles.join(', ')],
      ['valid until', certificate.expires_at],
      ...(evidence === undefined ? [] : [['admitted by', `rule ${evidence.rule}, ${evidence.source}`] as const]),
      ['node key', `${typed(cwd, files.privateKey)} (${isNewKey ? 'new; readable by you only' : 'as it was'})`],
      ['network', `${fingerprint} (${isPinned ? 'as you named it' : 'trusted on first use: compare it'})`],
    ],
    style,
  )
  const next = `${style.title('Next:')}\n  ${stay}\n  ${status}`
  return {
    data,
    ids: [certificate.cert_id],
    text: `${style.good('Joined')} ${genesis.network_name}.\n${rows}\n\n${next}`,
  }
}
