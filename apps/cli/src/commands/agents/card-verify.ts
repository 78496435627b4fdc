import { isJsonObject, member, readRevocationList, visible } from '@chancery/protocol'
import type { AuthorityKeys, JsonObject, JsonValue, RevocationList } from '@chancery/protocol'
import { UsageError } from '@chancery/sdk'
import {
  verifyAgentCard,
  type CardPartner,
  type CardTrust,
  type CardVerdict,
  type CertificateTrust,
  type RefusedCard,
  type SignedCard,
} from '@chancery/sdk/a2a'
import type { Client, TreatyRow } from '@chancery/sdk/authority'
import { FollowedParty, openTreatyParty, readSignedCard } from '@chancery/sdk/internal'
import { RelyingParty } from '@chancery/sdk/verify'
import { type Connection, connect, openForeign } from '../../connection/connection.ts'
import { isLocal, requireFollowedKeys } from '../../connection/followed-keys.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { loadRecord } from '../../files/json-file.ts'
import { loadNodeKey } from '../../files/keys.ts'
import type { Options } from '../../arguments/options.ts'
import { type Result, fields } from '../../output/screen.ts'
import { resolve } from 'node:path'
import { readBounded } from '../../connection/read-bounded.ts'
import { readBytes } from '../../files/files.ts'

const WELL_KNOWN = '/.well-known/agent-card.json'
const TIMEOUT_MS = 15_000
const MAX_BYTES = 262_144

export interface FetchedCard {
  readonly bytes: Uint8Array
  /** Undefined for a file. */
  readonly origin: string | undefined
}

/** Returns a card: of a file, of an address, or of the well-known path of an origin. */
async function fetchCard(cwd: string, place: string, allowHttp: boolean): Promise<FetchedCard> {
  if (!/^https?:/i.test(place)) return { bytes: await readBytes(resolve(cwd, place)), origin: undefined }
  if (!URL.canParse(place)) throw usageError(`${place} is not a URL.`)
  const url = new URL(place)
  if (url.username !== '' || url.password !== '') throw usageError('The address must not have credentials.')
  if (url.protocol === 'http:' && !allowHttp && !isLocal(url))
    throw usageError(
      'Plain http is allowed to this machine only: on the way, the card could be replaced by that of another member.',
      'Use the https address. Inside your own networks you can add --allow-http.',
    )
  if (url.pathname === '/') url.pathname = WELL_KNOWN
  try {
    const headers = { Accept: 'application/json', 'A2A-Version': '1.0' }
    // Without a redirect and without a cache: the card is the one of this address, now.
    const init: RequestInit = {
      headers,
      redirect: 'manual',
      cache: 'no-store',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }
    const response = await fetch(url, init)
    if (response.status !== 200) throw noCard(`${url.href} answered ${response.status}.`)
    const bytes = await readBounded(response, MAX_BYTES)
    if (bytes === undefined) throw noCard(`The card at ${url.href} is larger than ${MAX_BYTES} bytes.`)
    return { bytes, origin: url.origin }
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw noCard(`${url.origin} cannot be reached.`, error)
  }
}

function noCard(message: string, cause?: unknown): CommandError {
  const hint = 'Give the address of the card, the origin of the agent, or a file.'
  return new CommandError({ code: 'no_card', message, hint }, { cause })
}

/** `verify` of a card: by certificate, list and treaty; a key or an address in the card decides nothing. */
export async function verifyCard(context: CommandContext, card: string, options: Options): Promise<Result> {
  const connection = await connect(context, options)
  const { keys } = requireFollowedKeys(connection.followed)
  const expected = await readExpected(context, options)
  const { bytes, origin } = await fetchCard(context.cwd, card, options.isSet('allow-http'))
  const read = await readSignedCard(bytes)
  if (!read.valid) return report(context, read)
  const parts = { context, options, connection, keys }
  const isOwn = read.certificate.network_name === keys.genesis.network_name
  const partners = isOwn ? [] : await findPartners(read, parts)
  if ('reason' in partners) return report(context, partners)
  const own = isOwn ? await openOwn(read, parts) : NO_TRUST
  return report(context, await verifyAgentCard(bytes, { keys, own, partners, ...expected, now: context.now() }), origin)
}

type Expected = Pick<CardTrust, 'expectedNodeKey' | 'requiredRoles'>

async function readExpected({ cwd }: CommandContext, options: Options): Promise<Expected> {
  const [key, requiredRoles] = [options.text('node'), options.list('role')]
  if (key === undefined) return { requiredRoles }
  return { requiredRoles, expectedNodeKey: await loadNodeKey(cwd, '--node', key) }
}

interface Parts {
  readonly context: CommandContext
  readonly options: Options
  readonly connection: Connection
  readonly keys: AuthorityKeys
}

/** Never asked: a card of another network is verified by its treaty. */
const NO_TRUST: CertificateTrust = { evaluate: () => Promise.reject(new Error('the card is of another network')) }

async function openOwn(read: SignedCard, { context, options, connection, keys }: Parts): Promise<CertificateTrust> {
  const { genesis, history } = keys
  const list = await findListFile(context, options)
  if (list !== undefined) {
    const anchors = { [list.issuer]: genesis.network_authority.public_key }
    return RelyingParty.open({ network: genesis.network_name, anchors, crl: list }).catch(explainList)
  }
  requireAddress(options.text('url') ?? connection.config.network.na_endpoint, '--url', read)
  const clock = context.now
  return connection.ask((client) =>
    FollowedParty.open({ client, genesis, clock, ...(history === undefined ? {} : { keyHistory: history }) }).catch(
      explainList,
    ),
  )
}

/** The treaties of the own authority with this network, as they are now, each with the list of the partner. */
async function findPartners(
  read: SignedCard,
  { context, options, connection }: Parts,
): Promise<readonly CardPartner[] | RefusedCard> {
  const network = read.certificate.network_name
  const rows = await connection.ask((client) => findTreaties(client, network))
  if (rows.length === 0)
    return { valid: false, reason: 'network_unknown', problem: `no active treaty with ${network} at ${connection.url}` }
  const address = options.text('partner-url')
  const list =
    (await findListFile(context, options)) ??
    (await openForeign(context, requireAddress(address, '--partner-url', read)).ask((client) => client.crl.scanned()))
  const partners: CardPartner[] = []
  let problem = ''
  for (const { treaty, status } of rows) {
    try {
      partners.push({ treaty, status, trust: await openTreatyParty(treaty, list) })
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      problem = error.message
    }
  }
  return partners.length > 0 ? partners : { valid: false, reason: 'treaty_key_mismatch', problem }
}

const MAX_TREATIES = 50

async function findTreaties(client: Client, network: string): Promise<readonly TreatyRow[]> {
  const rows: TreatyRow[] = []
  for await (const row of client.recognitionTreaties.all({ subject_sovereign_id: network, status: 'active' })) {
    rows.push(row)
    if (rows.length === MAX_TREATIES) break
  }
  return rows
}

/** A revoked node could name an address that serves an earlier list, so the address in the card is only shown. */
function requireAddress(address: string | undefined, flag: string, { crl }: SignedCard): string {
  if (address !== undefined) return address
  const named = crl === undefined ? '' : ` The card names ${crl}; its signer chose that address.`
  throw usageError(
    `The address of the authority of this card is missing.${named}`,
    `Give ${flag} <address>, or --crl <file>.`,
  )
}

async function findListFile({ cwd }: CommandContext, options: Options): Promise<RevocationList | undefined> {
  const file = options.text('crl')
  if (file === undefined) return undefined
  const limits = { maxDepth: 64, maxValues: Number.MAX_SAFE_INTEGER, maxNames: Number.MAX_SAFE_INTEGER }
  return loadRecord(cwd, file, { name: 'a revocation list', member: 'crl', read: readRevocationList }, limits)
}

function explainList(error: unknown): never {
  if (!(error instanceof UsageError)) throw error
  const message = `The revocation list cannot be used: ${error.message}.`
  const hint = 'Compare --url or --crl with the genesis block. After a change of key: chancery genesis fetch'
  throw new CommandError({ code: 'no_list', message, hint }, { cause: error })
}

function report({ style }: CommandContext, verdict: CardVerdict | RefusedCard, origin?: string): Result {
  if (!verdict.valid) {
    const { reason, problem } = verdict
    const text = `${style.bad('NOT VALID')}: ${reason}\n${fields([['found', problem]], style)}`
    return { data: { valid: false, reason, problem }, text, exitCode: 1 }
  }
  const { card, certificate, treaty, decision } = verdict
  const { crl_sequence = null, crl_next_update = null } = decision.decision?.evaluation ?? {}
  const interfaces = interfacesOf(card)
  const notes = notesOn(interfaces, origin)
  const data = {
    valid: true,
    name: textOf(card, 'name'),
    network: certificate.network_name,
    cert_id: certificate.cert_id,
    node_public_key: certificate.node_public_key,
    roles: certificate.roles,
    treaty_id: treaty?.treaty_id ?? null,
    crl_sequence,
    crl_next_update,
    interfaces,
    notes,
  }
  const rows = fields(
    [
      ['network', data.network],
      ['node key', data.node_public_key],
      ['certificate', `${data.cert_id}, until ${certificate.expires_at}`],
      ['roles', data.roles.join(', ') || '-'],
      ['treaty', data.treaty_id ?? '-'],
      ['list', `${crl_sequence}, until ${crl_next_update}`],
      ...interfaces.map((url): [string, string] => ['interface', url]),
      ...notes.map((note): [string, string] => ['note', note]),
    ],
    style,
  )
  const text = `${style.good('Valid')}: ${visible(data.name)}\n${rows}`
  return { data, text, exitCode: 0 }
}

/** A member can publish the card of another at its own address, or a card that names the addresses of others. */
function notesOn(interfaces: readonly string[], origin: string | undefined): readonly string[] {
  if (origin === undefined || interfaces.some((url) => URL.canParse(url) && new URL(url).origin === origin)) return []
  return [`no interface is at ${origin}, where the card was fetched`]
}

function interfacesOf(card: JsonObject): readonly string[] {
  const interfaces = member(card, 'supportedInterfaces')
  return Array.isArray(interfaces) ? (interfaces as readonly JsonValue[]).map((each) => textOf(each, 'url')) : []
}

function textOf(value: JsonValue, name: string): string {
  const found = isJsonObject(value) ? member(value, name) : undefined
  return typeof found === 'string' ? found : ''
}
